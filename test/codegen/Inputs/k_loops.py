"""Reads assembly and prints a line for each innermost loop with at least eight multiply-adds on
vectors: how many it has, how many vector registers it uses, and how often one of these goes to the
stack or comes from there."""

import re
import sys

FUNCTION = re.compile(r"^([A-Za-z_][\w.]*):")
LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"^\s+(?:j[a-z]+|b\.\w+|cbn?z|tbn?z)\s+.*?(\.L\w+)")
MULTIPLY_ADD = re.compile(r"^\s+(?:vfn?madd\w+|fmla|mulps)\s")
REGISTER = re.compile(r"%[xyz]mm(\d+)|\b[vqs](\d+)\b")
STACK = re.compile(r"\(%rsp|\[sp\b")


def main() -> None:
    labels: dict[str, int] = {}
    function, lines = "", sys.stdin.read().splitlines()
    for number, line in enumerate(lines):
        if found := FUNCTION.match(line):
            function = found[1]
        if found := LABEL.match(line):
            labels[found[1]] = number
        found = BRANCH.match(line)
        if not found or found[1] not in labels:
            continue
        body = lines[labels[found[1]] + 1 : number]
        count = sum(bool(MULTIPLY_ADD.match(line)) for line in body)
        if count < 8 or any(LABEL.match(line) for line in body):
            continue
        registers = {left or right for line in body for left, right in REGISTER.findall(line)}
        spills = sum(bool(STACK.search(line) and REGISTER.search(line)) for line in body)
        print(f"{function}: {count} multiply-adds, {len(registers)} vector registers, {spills} spills")


main()
