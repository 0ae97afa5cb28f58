"""Uses a server with OpenAI's own client: openai_client.py URL MODEL TOKEN. Fails where an answer is not what OpenAI's would be."""

import asyncio
import sys

import openai

url, model, token = sys.argv[1:]
client = openai.OpenAI(base_url=url + "/v1", api_key=token, max_retries=0)


def create(**settings):
    return client.completions.create(**{"model": model, "max_tokens": 12, "temperature": 0} | settings)


def raises(error, call):
    try:
        call()
    except error as e:
        return e
    raise AssertionError(f"want {error}")


# models
assert [m.id for m in client.models.list()] == [model]
assert client.models.retrieve(model).object == "model"

# whole answers
answer = create(prompt="line 7 sa")
text = answer.choices[0].text
assert answer.object == "text_completion" and answer.id.startswith("cmpl-")
assert answer.choices[0].finish_reason in ("length", "stop") and answer.choices[0].logprobs is None
assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
assert create(prompt="line 7 sa").choices[0].text == text
assert [c.text for c in create(prompt=["line 7 sa", "line 7 sa"]).choices] == [text, text]
drawn = create(prompt="line", temperature=1, n=3, seed=4, extra_body={"min_p": 0.01, "top_k": 50, "repetition_penalty": 1.1})
assert [c.index for c in drawn.choices] == [0, 1, 2]
again = create(prompt="line", temperature=1, n=3, seed=4, extra_body={"min_p": 0.01, "top_k": 50, "repetition_penalty": 1.1})
assert [c.text for c in drawn.choices] == [c.text for c in again.choices]
stopped = create(prompt="line 7 sa", stop=text[3]).choices[0]
assert stopped.finish_reason == "stop" and text.startswith(stopped.text) and text[3] not in stopped.text
assert create(prompt="line 7 sa", logit_bias={str(ord(text[0])): -100}).choices[0].text[0] != text[0]  # ids are bytes

# log probabilities
scored = create(prompt="line 7 sa", echo=True, logprobs=5).choices[0]
assert scored.text == "line 7 sa" + text
probs = scored.logprobs
assert "".join(probs.tokens) == scored.text
assert probs.text_offset == list(range(len(scored.text)))
assert len(probs.token_logprobs) == len(probs.top_logprobs) == len(probs.tokens)
for token_, value, top in zip(probs.tokens, probs.token_logprobs, probs.top_logprobs):
    assert value <= 0 and top[token_] == value and list(top.values())[:5] == sorted(top.values(), reverse=True)[:5]
assert max(probs.top_logprobs[9].values()) == probs.token_logprobs[9]  # the likeliest was taken
assert create(prompt=[256, 97], echo=True, logprobs=1).choices[0].logprobs.token_logprobs[0] is None

# streams
parts = list(create(prompt="line 7 sa", stream=True, stream_options={"include_usage": True}))
assert "".join(c.text for p in parts for c in p.choices) == text
assert parts[-1].usage == answer.usage and not parts[-1].choices
assert len(parts) > 3
with create(prompt="line 7 sa", stream=True) as unfinished:
    next(iter(unfinished))


async def many():
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key=token) as asynchronous:
        return await asyncio.gather(*(asynchronous.completions.create(model=model, prompt="line 7 sa", max_tokens=12, temperature=0) for _ in range(64)))


assert {a.choices[0].text for a in asyncio.run(many())} == {text}

# errors
assert raises(openai.NotFoundError, lambda: create(model="other", prompt="a")).code == "model_not_found"
assert raises(openai.BadRequestError, lambda: create(prompt="a", top_p=0)).param == "top_p"
assert raises(openai.BadRequestError, lambda: create(prompt="a", extra_body={"tempratur": 1})).body["type"] == "invalid_request_error"
assert raises(openai.BadRequestError, lambda: create(prompt="a", max_tokens=10**6)).code == "context_length_exceeded"
raises(openai.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list())
print("openai", openai.__version__)
