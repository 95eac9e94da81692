"""On which line of a TOML text each key stands."""

from __future__ import annotations

import json
import random
import tomllib

import pytest

from sojourn.run.toml import key_lines

TEXT = '''\
# a comment with [brackets] and k = 1
title = "one # two [three]"

[a]  # of the table
x = 1
"quoted key" = 2
'literal.key' = 3
b.c.d = 4
b.e = """
[not.a.table]
y = 1 \\"""
"""
s = \'\'\'
z = {
\'\'\'
list = [ # one
    1, [2,
    3],
    { in = 1, out = [5,
      6] },
]
t = { u = 1, v.w = "}" }

[[node]]
name = "n1"
[node.inner]
k = 1
[[node]]
[node.inner]
k = 2
[e."f.g"]
\u0068 = 2011-05-01T00:00:00+09:00
'''
LINES = {
    ("title",): 2,
    ("a",): 4,
    ("a", "x"): 5,
    ("a", "quoted key"): 6,
    ("a", "literal.key"): 7,
    ("a", "b"): 8,
    ("a", "b", "c", "d"): 8,
    ("a", "b", "e"): 9,
    ("a", "s"): 13,
    ("a", "list"): 16,
    ("a", "list", 0): 17,
    ("a", "list", 1, 1): 18,
    ("a", "list", 2, "in"): 19,
    ("a", "list", 2, "out", 1): 20,
    ("a", "t", "v", "w"): 22,
    ("node",): 24,
    ("node", 0): 24,
    ("node", 0, "name"): 25,
    ("node", 0, "inner", "k"): 27,
    ("node", 1): 28,
    ("node", 1, "inner", "k"): 30,
    ("e", "f.g", "h"): 32,
}


def paths(value, above=()):
    """Every place in plain values."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, each in inner:
        yield (*above, step)
        yield from paths(each, (*above, step))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_form_of_a_key(newline):
    text = TEXT.replace("\n", newline)
    found = key_lines(text)
    assert set(paths(tomllib.loads(text))) == set(found)
    assert {key: found[key] for key in LINES} == LINES


class Writer:
    """Writes plain values as TOML in a manner that chance decides, and notes the lines."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def note(self, *key: str | int) -> None:
        self.lines.setdefault(key, self.text.count("\n") + 1)

    def name(self, key: str) -> str:
        plain = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
        return key if plain and self.rng.random() < 0.7 else json.dumps(key, ensure_ascii=False)

    def gap(self, *, lines: bool) -> None:
        choices = ["", " ", "  "] + (["\n", " # ], } = \n", "\n\n"] if lines else [])
        self.text += self.rng.choice(choices)

    def value(self, value, key) -> None:
        if isinstance(value, dict):
            self.text += "{"
            for place, (name, each) in enumerate(value.items()):
                self.text += ", " if place else " "
                self.note(*key, name)
                self.text += f"{self.name(name)} = "
                self.value(each, (*key, name))
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for place, each in enumerate(value):
                self.gap(lines=True)
                self.note(*key, place)
                self.value(each, (*key, place))
                self.gap(lines=True)
                self.text += "," if place < len(value) - 1 else ""
            self.gap(lines=True)
            self.text += "]"
        elif isinstance(value, str):
            literal = "'" not in value and value.isprintable() and self.rng.random() < 0.3
            many = self.rng.random() < 0.3 and not ({'"', "\\"} & set(value) or value[:1] == "\n")
            text = json.dumps(value, ensure_ascii=False)
            self.text += f"'{value}'" if literal else f'"""{value}"""' if many else text
        else:
            self.text += json.dumps(value)

    def table(self, values, key) -> None:
        later = {}
        for name, each in values.items():
            if isinstance(each, dict) and each and self.rng.random() < 0.5:
                later[name] = each
                continue
            self.gap(lines=True)
            place = (*key, name)
            self.note(*place)
            self.text += self.name(name)
            while isinstance(each, dict) and len(each) == 1 and self.rng.random() < 0.5:
                ((name, each),) = each.items()
                place = (*place, name)
                self.note(*place)
                self.text += f".{self.name(name)}"
            self.text += self.rng.choice([" = ", "="])
            self.value(each, place)
            self.text += self.rng.choice(["\n", " # k = 1\n"])
        for name, each in later.items():
            self.gap(lines=True)
            self.note(*key, name)
            self.text += f"[{'.'.join(map(self.name, (*key, name)))}]\n"
            self.table(each, (*key, name))


def some_values(rng: random.Random, depth: int = 0):
    kind = rng.choice(["int", "bool", "text", "list", "table", "table"][: 4 if depth > 2 else 6])
    if kind == "table":
        names = ["a", "b-c", "d_e", "two words", "x.y", "ключ", '"', "7", "true", "[k]", "#"]
        chosen = rng.sample(names, rng.randint(0, 4))
        return {name: some_values(rng, depth + 1) for name in chosen}
    if kind == "list":
        return [some_values(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == "text":
        return "".join(rng.choices("ab [](){}=#,.'\"\\é\n", k=rng.randint(0, 8)))
    return rng.random() < 0.5 if kind == "bool" else rng.randint(-9, 9)


def test_random_documents():
    seen = 0
    for seed in range(400):
        rng = random.Random(seed)
        values = {f"k{i}": some_values(rng) for i in range(rng.randint(1, 4))}
        writer = Writer(rng)
        writer.table(values, ())
        assert tomllib.loads(writer.text) == values, writer.text
        assert key_lines(writer.text) == writer.lines, writer.text
        seen += len(writer.lines)
    assert seen > 2000
