"""Suggestions as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bmaml.pictures.suggestion import PictureSuggestion
from bmaml.tasks.images.skipped import as_unicode

if TYPE_CHECKING:
    import pandas


def suggestions_frame(suggestions: Sequence[PictureSuggestion]) -> "pandas.DataFrame":
    """A table with the columns file, score and reason."""
    import pandas

    rows = [each._replace(file=as_unicode(each.file)) for each in suggestions]
    return pandas.DataFrame(rows, columns=list(PictureSuggestion._fields))
