"""Conditions on servers, such as ``published <= 2011-12 and (cores >= 8 or vendor == Acer)``.

::

    condition  =  part { "or" part }
    part       =  test { "and" test }
    test       =  "not" test  |  "(" condition ")"  |  field comparison
    comparison =  ( "==" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~" ) value
               |  [ "not" ] "in" "(" value { "," value } ")"

Nothing is evaluated as Python.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ..errors import OptionError, nearest
from ._layout import COLUMNS, month
from ._table import key, number
from .library import vendor_name
from .server import Server

Test = Callable[[Server], bool]

_TEXT = ("model", "vendor", "system", "processor", "form_factor", "features")
_DATES = ("published", "hw_available")

FIELDS: Mapping[str, str] = {
    "model": "short name of the processor",
    "vendor": "maker of the server, without Inc. and the like",
    "system": "name of the server",
    "processor": "name of the processor, as published",
    "published": "month of publication",
    "hw_available": "month in which the hardware could be had",
    "year": "year in which the hardware could be had",
    "nodes": "nodes of the published result",
    "chips": "sockets",
    "cores": "cores",
    "cores_per_chip": "cores of one chip",
    "threads": "hardware threads",
    "threads_per_core": "hardware threads of one core",
    "memory": "GB",
    "mhz": "nominal clock, MHz",
    "ops": "operations per second at 100 % load",
    "watts": "W at 100 % load",
    "idle_watts": "W at active idle",
    "efficiency": "operations per second and watt at 100 % load",
    "result": "overall operations per watt, as published; 0 if non-compliant",
    "version": "of the benchmark",
    "form_factor": "such as 1U, blade, tower",
    "features": "words that jobs can ask for",
}
"""What can be asked of a server; numbers are of the node, not of a result of several."""

_NAMES = {key(name): name for name in FIELDS} | {
    key(title): field for field, titles in COLUMNS.items() for title in titles if field in FIELDS
}
_NAMES |= {
    key("ssj_ops @ 100% of target load"): "ops",
    key("Average watts @ 100% of target load"): "watts",
    key("Average watts @ active idle"): "idle_watts",
    key("Performance/power @ 100% of target load"): "efficiency",
}

_SIGN = re.compile(r"==|!=|<>|<=|>=|!~|=|<|>|~|\b(?:not\s+)?in\b(?=\s*[(\[])", re.IGNORECASE)
_JOINT = re.compile(r"\b(and|or|not)\b", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]*)"|\'([^\']*)\'')
# Runs of blanks are taken whole: a long one is looked at once.
_BARE = re.compile(r"(?:[^()\[\],\"'<>=!~\s]++|\s++(?!(?:and|or)\b))+", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")

_ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SAME = {"=": "==", "<>": "!="}
_DEEPEST = 50
_SHOWN = 60  # characters before and after the place of an error


def facts_of(server: Server) -> dict[str, Any]:
    """Return all that is known of a server, by the names of `FIELDS`."""
    facts = {name: value for name, value in server.facts.items() if name in FIELDS}
    facts |= {
        "model": server.model,
        "cores": server.cores,
        "chips": server.chips,
        "cores_per_chip": server.cores / server.chips,
        "features": " ".join(sorted(server.features)),
    }
    if not math.isnan(server.memory):
        facts["memory"] = server.memory
    if server.has_speed:
        facts["ops"] = server.ops
    if server.has_watts:
        facts["watts"] = server.watts[-1]
    if server.idle_known:
        facts["idle_watts"] = server.watts[0]
    if server.has_speed and server.has_watts and server.watts[-1] > 0:
        facts["efficiency"] = server.ops / server.watts[-1]
    if facts.get("threads_per_core") and "threads" not in facts:
        facts["threads"] = server.cores * facts["threads_per_core"]
    return facts


def parse_query(text: str) -> Test:
    """Return the test that a condition describes.

    Parameters
    ----------
    text : comparisons of `FIELDS` (or SPEC's names of columns) joined by ``and``, ``or``, ``not``
        and parentheses. ``~`` means contains. Case does not matter. Dates are YYYY, YYYY-MM or
        YYYY-MM-DD and compare as far as both sides go: ``<= 2011-12`` includes December 2011.
        What is not known of a server fulfils no comparison.

    Raises
    ------
    OptionError
        When it cannot be read; the message points at the place.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def parse(self) -> Test:
        self._blanks()
        if self.at == len(self.text):
            self._fail("is empty; write for example cores >= 8", 0)
        test = self._condition()
        if self.at < len(self.text):
            self._fail("'and', 'or' or the end must come here", self.at)
        return test

    def _fail(self, problem: str, at: int) -> NoReturn:
        before, after = self.text[:at], self.text[at:]
        if len(before) > _SHOWN:
            before = f"...{before[-_SHOWN:]}"
        if len(after) > _SHOWN:
            after = f"{after[:_SHOWN]}..."
        shown = f"{before}-->{after}"
        raise OptionError(f"query '{shown}', at character {at + 1}: {problem}")

    def _blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._blanks()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def _takes(self, token: str) -> bool:
        """Go past a sign or a word if it comes next."""
        pattern = rf"{token}\b" if token.isalpha() else re.escape(token)
        return self._match(re.compile(pattern, re.IGNORECASE)) is not None

    def _condition(self) -> Test:
        tests = [self._part()]
        while self._takes("or"):
            tests.append(self._part())
        return tests[0] if len(tests) == 1 else lambda server: any(t(server) for t in tests)

    def _part(self) -> Test:
        tests = [self._test()]
        while self._takes("and"):
            tests.append(self._test())
        return tests[0] if len(tests) == 1 else lambda server: all(t(server) for t in tests)

    def _test(self) -> Test:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"more than {_DEEPEST} conditions inside each other", self.at)
        try:
            if self._takes("not"):
                inner = self._test()
                return lambda server: not inner(server)
            self._blanks()
            begin = self.at
            if self._takes("("):
                inner = self._condition()
                if not self._takes(")"):
                    self._fail("this parenthesis is not closed", begin)
                return inner
            return self._comparison()
        finally:
            self.depth -= 1

    def _comparison(self) -> Test:
        field = self._field()
        match = self._match(_SIGN)
        assert match is not None
        sign = " ".join(match[0].lower().split())
        sign = _SAME.get(sign, sign)
        if field in _TEXT and sign in ("<", "<=", ">", ">="):
            self._fail(f"'{field}' is text; use ==, !=, ~, !~ or in", match.start())
        if field not in _TEXT and sign in ("~", "!~"):
            self._fail(f"'{field}' is no text; use ==, !=, <, <=, >, >= or in", match.start())
        if sign.endswith("in"):
            tests = [_compared(field, "==", value) for value in self._values(field)]
            if sign == "in":
                return lambda server: any(t(server) for t in tests)
            others = _tested(field, lambda known: True)
            return lambda server: others(server) and not any(t(server) for t in tests)
        return _compared(field, sign, self._value(field))

    def _field(self) -> str:
        begin = self.at
        quoted = _QUOTED.match(self.text, begin)
        match = _SIGN.search(self.text, quoted.end() if quoted else begin)
        name = self.text[begin : match.start() if match else len(self.text)].strip()
        joint = _JOINT.search(name)
        if joint and not quoted:
            name, match = name[: joint.start()].strip(), None
        plain = name.strip("\"'` )")
        if not plain:
            self._fail("the name of a field must come here", begin)
        field = _NAMES.get(key(plain))
        if field is None:
            close = nearest(plain[:_SHOWN], FIELDS)
            self._fail(f"no field is called '{plain[:_SHOWN]}'; {close}", begin)
        if match is None:
            self._fail(f"'{plain}' is not compared; write for example {_example(field)}", begin)
        self.at = match.start()
        return field

    def _values(self, field: str) -> list[Any]:
        begin = self.at
        close = "]" if self._takes("[") else ")"
        if close == ")":
            self._takes("(")
        values = [self._value(field)]
        while self._takes(","):
            values.append(self._value(field))
        if not self._takes(close):
            self._fail(f"this list is not closed with '{close}'", begin)
        return values

    def _value(self, field: str) -> Any:
        self._blanks()
        begin = self.at
        match = self._match(_QUOTED)
        if match:
            text = match[1] if match[1] is not None else match[2]
        else:
            match = self._match(_BARE)
            text = match[0].strip() if match else ""
            if not text:
                self._fail("a value must come here", begin)
        if field in _TEXT:
            return vendor_name(text) if field == "vendor" else text
        if field in _DATES:
            date = _date(text)
            if date is None:
                self._fail(
                    f"'{text[:_SHOWN]}' is no date; write YYYY, YYYY-MM or YYYY-MM-DD", begin
                )
            return date
        try:
            return number(text)
        except ValueError:
            self._fail(f"'{text[:_SHOWN]}' is no number, but '{field}' is", begin)


def _example(field: str) -> str:
    if field in _TEXT:
        return f"{field} ~ word"
    return f"{field} {'<= 2011-12' if field in _DATES else '>= 8'}"


def _date(text: str) -> tuple[int, ...] | None:
    """Return year, month and day, as far as they are given."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        # As published: Jan-2009.
        named = month(text)
        return _date(named) if named is not None else None
    date = tuple(int(part) for part in match.groups() if part is not None)
    valid = all(1 <= part <= most for part, most in zip(date[1:], (12, 31), strict=False))
    return date if valid else None


def _compared(field: str, sign: str, value: Any) -> Test:
    """Return the test of one field against one value."""
    if field in _TEXT:
        wanted = value.lower()
        if sign in ("~", "!~"):
            return _tested(field, lambda known: (wanted in known.lower()) == (sign == "~"))
        if field == "features":
            return _tested(field, lambda known: (wanted in known.lower().split()) == (sign == "=="))
        return _tested(field, lambda known: (known.lower() == wanted) == (sign == "=="))
    holds = _ORDERED[sign]
    if field not in _DATES:
        return _tested(field, lambda known: holds(known, value))

    def dated(known: str) -> bool:
        date = _date(known)
        return date is not None and holds(date[: len(value)], value[: len(date)])

    return _tested(field, dated)


def _tested(field: str, holds: Callable[[Any], bool]) -> Test:
    def test(server: Server) -> bool:
        known = facts_of(server).get(field)
        return known is not None and holds(known)

    return test
