"""Writes rendered.json: what jinja2, set up as transformers' apply_chat_template does, makes of the templates and conversations here.

transformers 5.24.0, jinja2 as installed with it: python make.py
"""
import datetime, glob, json
import transformers.utils.chat_template_utils as chat

class Fixed(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 3, 5, 14, 7, 9)

chat.datetime = Fixed
conversations, rendered = json.load(open("conversations.json")), {}
for path in sorted(glob.glob("*.jinja")):
    for name, c in conversations.items():
        if name == "parts" and not path.startswith("dated"):
            continue  # the others expect text
        template = chat._compile_jinja_template(open(path).read())
        try:
            text = template.render(messages=c["messages"], tools=c.get("tools"), add_generation_prompt=c["generation"], bos_token="<s>", eos_token="</s>")
        except Exception as e:
            text = "error: " + type(e).__name__
        rendered[path[:-6] + "/" + name] = text
json.dump(rendered, open("rendered.json", "w"), ensure_ascii=False, indent=1)
