"""Few-shot classification of images: N-way K-shot episodes from pictures sorted into classes."""

from bmaml.tasks.images.episodes import ImageEpisodes
from bmaml.tasks.images.folder import ImageFolder
from bmaml.tasks.images.glyphs import Glyphs
from bmaml.tasks.images.miniimagenet import MiniImageNet
from bmaml.tasks.images.omniglot import Omniglot

__all__ = ["Glyphs", "ImageEpisodes", "ImageFolder", "MiniImageNet", "Omniglot"]
