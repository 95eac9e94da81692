"""The compiled kernels between the bytes of a log and columns of numbers."""

from __future__ import annotations

import math

import numpy as np

from ...jit import compiled, inlined
from ..schema import SWF_FIELDS
from .swf import COMMENT, EXACT, GOOD, NOT_A_NUMBER, NOT_FINITE, NOT_INTEGER, TOO_FEW, TOO_MANY

NOTE_WIDTH = 6  # kind, line, field (or number of fields), first byte, end byte, row

_FIELDS = len(SWF_FIELDS)
_IS_INT = np.array([dtype.kind == "i" for dtype in SWF_FIELDS.values()])

# Ten to the k is a float64 without error up to k = 22.
_TENS = np.array([10.0**k for k in range(23)])
_EXACT_MANTISSA = np.uint64(2**53)
_LARGEST_INT = np.uint64(2**63 - 1)
# Without sign an index needs no look at its sign: half the time of a scan.
_ONE = np.uintp(1)
_PLAIN_DIGITS = np.uintp(15)  # a whole number of so many digits is exact in either type
_MAX_DIGITS = 19  # decimal digits that always fit in 64 bits

_NEWLINE, _SPACE, _SEMICOLON, _MINUS, _PLUS, _DOT, _ZERO = 10, 32, 59, 45, 43, 46, 48
_LOWER_E, _UPPER_E = 101, 69

_NUMBER, _LONG, _WORD = 0, 1, 2

# Powers of ten whose 128 bits decide the rounding of every 64-bit mantissa [lemire2021, sec. 5].
_LEAST_POWER, _MOST_POWER = -27, 22


def _power_of_five(power: int) -> int:
    """Return the leading 128 bits of 5**power; rounded up for a negative power."""
    five: int = 5 ** abs(power)
    if power < 0:
        return (1 << ((five - 1).bit_length() + 127)) // five + 1
    return five << (128 - five.bit_length())


_FIVES = [_power_of_five(power) for power in range(_LEAST_POWER, _MOST_POWER + 1)]
_FIVES_HIGH = np.array([five >> 64 for five in _FIVES], np.uint64)
_FIVES_LOW = np.array([five & (2**64 - 1) for five in _FIVES], np.uint64)


@inlined
def _is_blank(char):  # type: ignore[no-untyped-def]
    return char == _SPACE or (9 <= char <= 13 and char != _NEWLINE)


@inlined
def _number(buf, pos):  # type: ignore[no-untyped-def]
    """Read a decimal number as mantissa * 10**exponent.

    The buffer ends with a newline, which ends every number, so no bound is checked.
    """
    negative = buf[pos] == _MINUS
    if negative or buf[pos] == _PLUS:
        pos += _ONE
    mantissa = np.uint64(0)
    ten = np.uint64(10)
    digits = 0
    exponent = np.int64(0)
    code = _WORD
    long = False
    fraction = False
    while True:
        char = np.int64(buf[pos])
        if _ZERO <= char <= _ZERO + 9:
            code = _NUMBER
            if digits < _MAX_DIGITS:
                mantissa = mantissa * ten + np.uint64(char - _ZERO)
                if mantissa > 0:
                    digits += 1
                if fraction:
                    exponent -= 1
            else:
                long = True
        elif char == _DOT and not fraction:
            fraction = True
        else:
            break
        pos += _ONE
    if code == _NUMBER and (buf[pos] == _LOWER_E or buf[pos] == _UPPER_E):
        pos += _ONE
        sign = 1
        if buf[pos] == _MINUS or buf[pos] == _PLUS:
            sign = -1 if buf[pos] == _MINUS else 1
            pos += _ONE
        power = np.int64(0)
        code = _WORD
        while _ZERO <= buf[pos] <= _ZERO + 9:
            code = _NUMBER
            if power < 100_000:
                power = 10 * power + (np.int64(buf[pos]) - _ZERO)
            pos += _ONE
        exponent += sign * power
    if buf[pos] != _NEWLINE and not _is_blank(buf[pos]):
        code = _WORD
    if code == _NUMBER and long:
        code = _LONG
    return pos, code, negative, mantissa, exponent


@inlined
def _names_infinity(buf, pos):  # type: ignore[no-untyped-def]
    """Whether a word reads nan or inf, signed or not, in any case."""
    if buf[pos] == _MINUS or buf[pos] == _PLUS:
        pos += _ONE
    a, b, c = np.int64(0), np.int64(0), np.int64(0)
    a = np.int64(buf[pos]) | 32
    if buf[pos] != _NEWLINE:
        b = np.int64(buf[pos + _ONE]) | 32
        if buf[pos + _ONE] != _NEWLINE:
            c = np.int64(buf[pos + _ONE + _ONE]) | 32
    return (a == 110 and b == 97 and c == 110) or (a == 105 and b == 110 and c == 102)


@inlined
def _as_integer(mantissa, exponent):  # type: ignore[no-untyped-def]
    """Return what to do about mantissa * 10**exponent in an integer field, and the integer."""
    ten = np.uint64(10)
    while exponent < 0 and mantissa % ten == 0 and mantissa > 0:
        mantissa = mantissa // ten
        exponent += 1
    if mantissa == 0:
        return GOOD, np.int64(0)
    if exponent < 0:
        return NOT_INTEGER, np.int64(0)
    if exponent > 0 or mantissa > _LARGEST_INT:
        return EXACT, np.int64(0)
    return GOOD, np.int64(mantissa)


@inlined
def _product(a, b):  # type: ignore[no-untyped-def]
    """Return the high and the low half of a product of 64-bit numbers."""
    half = np.uint64(32)
    mask = np.uint64(2**32 - 1)
    low = (a & mask) * (b & mask)
    cross = (a >> half) * (b & mask) + (low >> half)
    middle = (a & mask) * (b >> half) + (cross & mask)
    high = (a >> half) * (b >> half) + (cross >> half) + (middle >> half)
    return high, (middle << half) | (low & mask)


@inlined
def _rounded(mantissa, exponent):  # type: ignore[no-untyped-def]
    """Return mantissa * 10**exponent rounded to even, for a power in the table [lemire2021]."""
    one = np.uint64(1)
    top = np.uint64(63)
    shift = 0
    while mantissa >> top == 0:
        mantissa = mantissa << one
        shift += 1
    power = exponent - _LEAST_POWER
    high, low = _product(mantissa, _FIVES_HIGH[power])
    if high & np.uint64(511) == np.uint64(511):
        carry, _ = _product(mantissa, _FIVES_LOW[power])
        room = ~low
        if carry > room:
            high += one
            low = carry - room - one
        else:
            low += carry
    upper = high >> top
    cut = upper + np.uint64(9)
    kept = high >> cut
    # Exactly half way between two floats: only small powers can be that exact.
    if low <= one and exponent >= -4 and kept & np.uint64(3) == one and kept << cut == high:
        kept -= one
    kept = (kept + (kept & one)) >> one
    # 217706 / 2**16 is log2(10) from above.
    binary = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - shift
    return math.ldexp(np.float64(kept), int(binary) - 52)


@inlined
def _as_float(mantissa, exponent):  # type: ignore[no-untyped-def]
    """Return what to do about mantissa * 10**exponent in a field of floats, and the float."""
    if mantissa < _EXACT_MANTISSA and -22 <= exponent <= 22:
        # Both factors are exact, so the one rounding is the correct one.
        value = np.float64(mantissa)
        if exponent < 0:
            value /= _TENS[-exponent]
        elif exponent > 0:
            value *= _TENS[exponent]
        return GOOD, value
    if mantissa > 0 and _LEAST_POWER <= exponent <= _MOST_POWER:
        return GOOD, _rounded(mantissa, exponent)
    return EXACT, 0.0


@inlined
def _note(notes, count, kind, line, fields, begin, end, row):  # type: ignore[no-untyped-def]
    """Leave a note for the caller, and return how many there are."""
    notes[count, 0], notes[count, 1], notes[count, 2] = kind, line, fields
    notes[count, 3], notes[count, 4], notes[count, 5] = begin, end, row
    return count + 1


@compiled(slow="the reader of logs", seconds=1.0)
def scan(buf, pos, line, row, slots, ints, floats, notes):  # type: ignore[no-untyped-def]
    """Parse Standard Workload Format lines into columns until the end, or until notes are full.

    Parameters
    ----------
    buf : bytes of the log; the last one is a newline.
    pos, line, row : where to go on: byte, lines before it, good rows so far.
    slots : row of each field among the integer or among the float columns; a negative one: the
        field is checked as the others are, but not stored.
    ints, floats : columns to fill, one row of each array per field of that type.
    notes : room for what the caller must see to: comments, malformed lines, and numbers
        that take more than 64 bits to round correctly (kind EXACT).

    Returns
    -------
    pos, line, row : where it stopped.
    count : notes taken.
    """
    pos = np.uintp(pos)
    size = np.uintp(buf.size)
    room = notes.shape[0] - _FIELDS
    count = 0
    while pos < size and count < room:
        line += 1
        while _is_blank(buf[pos]):
            pos += _ONE
        if buf[pos] == _NEWLINE:
            pos += _ONE
            continue
        begin = pos
        before = count
        fields = 0
        kind = COMMENT
        if buf[pos] != _SEMICOLON:
            kind = GOOD
            while buf[pos] != _NEWLINE:
                if fields == _FIELDS:
                    kind = TOO_MANY
                    break
                begin = pos
                negative = buf[pos] == _MINUS
                if negative:
                    pos += _ONE
                first = pos
                limit = pos + _PLAIN_DIGITS
                plain = np.int64(0)
                digit = np.int64(buf[pos]) - _ZERO
                while 0 <= digit <= 9 and pos < limit:
                    plain = 10 * plain + digit
                    pos += _ONE
                    digit = np.int64(buf[pos]) - _ZERO
                if first < pos and buf[pos] <= _SPACE:
                    slot = slots[fields]
                    if slot >= 0:
                        if negative:
                            plain = -plain
                        if _IS_INT[fields]:
                            ints[slot, row] = plain
                        else:
                            floats[slot, row] = -0.0 if negative and plain == 0 else plain
                    fields += 1
                    while _is_blank(buf[pos]):
                        pos += _ONE
                    continue
                pos, code, negative, mantissa, exponent = _number(buf, begin)
                if code == _WORD:
                    kind = NOT_FINITE if _names_infinity(buf, begin) else NOT_A_NUMBER
                    break
                slot = slots[fields]
                todo = EXACT
                if code == _NUMBER and _IS_INT[fields]:
                    todo, integer = _as_integer(mantissa, exponent)
                    if slot >= 0:
                        ints[slot, row] = -integer if negative else integer
                    if todo == NOT_INTEGER:
                        kind = NOT_INTEGER
                        break
                elif code == _NUMBER:
                    todo, value = _as_float(mantissa, exponent)
                    if slot >= 0:
                        floats[slot, row] = -value if negative else value
                if todo == EXACT:
                    count = _note(notes, count, EXACT, line, fields, begin, pos, row)
                fields += 1
                while _is_blank(buf[pos]):
                    pos += _ONE
            if kind == GOOD and fields < _FIELDS:
                kind = TOO_FEW
            if kind == GOOD:
                row += 1
                pos += _ONE
                continue
            count = before
        while buf[pos] != _NEWLINE:
            pos += _ONE
        count = _note(notes, count, kind, line, fields, begin, pos, row)
        pos += _ONE
    return np.int64(pos), line, row, count


@inlined
def _put_integer(out, pos, magnitude, negative):  # type: ignore[no-untyped-def]
    if negative:
        out[pos] = _MINUS
        pos += 1
    ten = np.uint64(10)
    width = 1
    rest = magnitude // ten
    while rest > 0:
        width += 1
        rest //= ten
    for k in range(width):
        out[pos + width - 1 - k] = _ZERO + magnitude % ten
        magnitude //= ten
    return pos + width


@compiled()
def format_rows(ints, floats, order, texts, ends, separator, out):  # type: ignore[no-untyped-def]
    """Write rows of numbers as text; whole numbers are written without a fraction.

    Parameters
    ----------
    ints, floats : columns, one row of each array per column.
    order : the columns in writing order: k >= 0 is ints[k], k < 0 is floats[-k - 1].
    texts, ends : the text of every float that is not a 64-bit integer, in writing order, and
        where each ends.
    separator : byte between two numbers.
    out : room for the text.

    Returns
    -------
    Bytes written.
    """
    pos = 0
    text = 0
    used = 0
    for row in range(ints.shape[1]):
        for k in order:
            if k >= 0:
                integer = ints[k, row]
                magnitude = np.uint64(integer if integer >= 0 else -(integer + 1))
                if integer < 0:
                    magnitude += np.uint64(1)
                pos = _put_integer(out, pos, magnitude, integer < 0)
            else:
                value = floats[-k - 1, row]
                size = abs(value)
                if size < 2.0**63 and size == np.floor(size):
                    negative = math.copysign(1.0, value) < 0
                    pos = _put_integer(out, pos, np.uint64(size), negative)
                else:
                    while used < ends[text]:
                        out[pos] = texts[used]
                        pos += 1
                        used += 1
                    text += 1
            out[pos] = separator
            pos += 1
        out[pos - 1] = _NEWLINE
    return pos
