"""What the scripts next to this file share: their command line, and the lines that bench exchanges with them
(experiment/bench/child.go describes those)."""
import argparse
import json
import os
import statistics
import sys

# Standard output is for our lines alone: what a library prints goes to standard error.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(**line):
    print(json.dumps(line), file=OUT, flush=True)


def peak_bytes():
    """The most memory this process has had resident; 0 where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return 0


def parser(text, model, **numbers):
    """A parser of a script's command line, with options that are whole numbers."""
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help=model)
    for name, value in dict(threads=2, warm_up=2, steps=8, **numbers).items():
        p.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    p.add_argument("--serve", action="store_true")
    return p


def sizes(text):
    """Returns the options that a model's config sets. It is an error if the model is not one of the two here."""
    c = json.loads(text)
    stream, feedforward = c["stream"], c.get("feedforward", {})
    kinds = [stream.get("kind"), feedforward.get("kind")]
    if kinds not in (["matrix", "gelu"], ["vector", "gelu"]):
        raise ValueError(f"want a stream of kind matrix or vector and a feedforward of kind gelu, got {kinds}")
    return dict(stream=kinds[0], layers=c["layers"], vocab=c["vocab"], seq=c["seq"], ff=feedforward["hidden"], gelu=c.get("gelu", "tanh"),
                dk=stream.get("dk"), dv=stream.get("dv"), rank=stream.get("rank"), width=stream.get("d_model"),
                heads=c.get("attention", {}).get("heads"))


def serve(step, answer, **facts):
    """Makes steps whenever a line of standard input says how many; answer turns what they returned into a line."""
    say(facts=facts)
    for line in sys.stdin:
        say(**answer([step() for _ in range(int(line))]))


def train(training, o):
    """Warms up, then serves a training's steps or times them. training has step(), which returns seconds and a loss,
    parameters(), warmed_up(), peak_bytes() and version."""
    first = float(training.step()[1])
    for _ in range(o.warm_up - 1):
        training.step()
    training.warmed_up()
    if o.serve:
        def answer(steps):
            return dict(seconds=[seconds for seconds, _ in steps], loss=float(steps[-1][1]), peak_bytes=training.peak_bytes())
        serve(training.step, answer, parameters=training.parameters(), version=training.version)
        return
    seconds = statistics.median(training.step()[0] for _ in range(o.steps))
    say(stream=o.stream, version=training.version, parameters=training.parameters(), ms_per_step=round(1e3 * seconds, 1),
        tokens_per_s=round(o.batch * o.seq / seconds), first_loss=round(first, 4), peak_mb=training.peak_bytes() >> 20)


def generate(generation, o, **facts):
    """Warms up, then serves steps of generation, each of which returns the seconds of a prompt and of a token, or times them."""
    for _ in range(o.warm_up):
        generation.step()
    if o.serve:
        def answer(steps):
            prefill, token = zip(*steps)
            return dict(seconds=prefill, token_seconds=token, peak_bytes=peak_bytes())
        serve(generation.step, answer, **facts)
        return
    prefill, token = zip(*(generation.step() for _ in range(o.steps)))
    say(**facts, prompt_ms=round(1e3 * statistics.median(prefill), 1), ms_per_token=round(1e3 * statistics.median(token), 2))
