"""A trained run used on a person's own pictures: labelled ones in folders, and others to tell apart."""

from bmaml.pictures.model import PictureModel
from bmaml.pictures.output import suggestions_frame
from bmaml.pictures.prediction import PicturePredictions, predict_folder
from bmaml.pictures.suggestion import PictureSuggestion, suggest_pictures
from bmaml.tasks.images.skipped import LeftOutWarning, Skipped, shown

__all__ = [
    "LeftOutWarning",
    "PictureModel",
    "PicturePredictions",
    "PictureSuggestion",
    "Skipped",
    "predict_folder",
    "shown",
    "suggest_pictures",
    "suggestions_frame",
]
