"""Checks a profile of `bench` and prints the loops of its first call.

usage: check_profile.py TRACE.json BENCH.json

Spans of a thread nest, a loop stands in a call or in the loading of weights, and the loops of every
call add up to the FLOPs that `bench` counts. Prints "layer | label | shape" for each loop.
"""

import json
import sys


def nanoseconds(event: dict) -> tuple[int, int]:
    begin, duration = round(1e3 * event["ts"]), round(1e3 * event["dur"])
    return begin, begin + duration


def check_nesting(spans: list[dict]) -> None:
    """Spans are sorted by their begin; each ends before the one around it does."""
    open_spans = []
    for span in spans:
        begin, end = nanoseconds(span)
        while open_spans and open_spans[-1] <= begin:
            open_spans.pop()
        assert not open_spans or end <= open_spans[-1], f"{span} ends after the span around it"
        open_spans.append(end)


trace, bench = (json.load(open(path)) for path in sys.argv[1:])
spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
threads = {span["tid"] for span in spans}
for thread in threads:
    check_nesting([span for span in spans if span["tid"] == thread])

caller = [span for span in spans if span["tid"] == 0]
calls = [span for span in caller if span["name"] == "call"]
loops = [span for span in caller if "tasks" in span["args"]]
for call in calls:
    begin, end = nanoseconds(call)
    inside = [span for span in loops if begin <= nanoseconds(span)[0] < end]
    flops = sum(span["args"].get("flops", 0) for span in inside)
    assert flops == bench["flops"] > 0, f"{flops} FLOPs in a call, bench says {bench['flops']}"
    if call is calls[0]:
        for span in inside:
            print(" | ".join([span["args"]["layer"], span["name"], span["args"]["shape"]]))
for span in spans:
    if "tasks" in span["args"]:
        assert span["args"]["thread"] == span["tid"], span
        assert 0 <= span["args"]["taken"] <= span["args"]["tasks"], span
print(f"{len(calls)} calls, {bench['flops']} FLOPs each")
