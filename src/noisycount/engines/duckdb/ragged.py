"""Lines of a file that have other numbers of cells than there are names, and the statement by which they are read."""

from collections import Counter
from dataclasses import replace

from noisycount.engines.formats import FileFormat
from noisycount.frozen import frozen

_PAIR = 2
_FEW = 2  # if more than one of so many lines is ragged, the file may hold several tables
_LONG_SHARE = 10  # unless only one of so many lines has too many cells


@frozen
class RaggedLines:
    """Lines that have other numbers of cells than there are names."""

    lines: tuple[tuple[int, int], ...]  # the first ones, with how many cells each has
    number: int  # of all of them
    widths: Counter[int]  # the numbers of cells of all records
    long: int  # the number of those with more cells than names which are not empty

    def words(self, names: int) -> str:
        """Return what is wrong with the first line, and how many others are like it."""
        (line, cells), *others = self.lines
        fault = f"line {line:,} has {cells:,} cell{'s' * (cells != 1)} for {names:,} name{'s' * (names != 1)}"
        listed = ", ".join(f"{number:,}" for number, _ in others)
        more = ", …" if self.number > len(self.lines) else ""
        are = "line is" if self.number == _PAIR else "lines are"
        return f"{fault}, and {self.number - 1:,} more {are} ragged ({listed}{more})" if others else fault

    def mended(self, form: FileFormat, names: int) -> FileFormat:
        """Return the form by which these lines can be read: it leaves out as few lines as possible.

        If the file may hold several tables, that is the form as it is.
        """
        widest, usual = max(self.widths), self.widths.most_common(1)[0][0]
        if not self.long:
            return replace(form, ragged="pad")
        if usual > names:
            added = {place: f"column{place}" for place in range(names + 1, widest + 1)}
            named = tuple(sorted({**added, **dict(form.names or ())}.items()))
            return replace(form, names=named, ragged="pad" if len(self.widths) > 1 else None)
        if min(self.number * _FEW, self.long * _LONG_SHARE) > self.widths.total():
            return form
        return replace(form, ragged="drop" if self.long == self.number else "pad_or_drop")
