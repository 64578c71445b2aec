"""Pictures and short animations of policies before and after adaptation; no graphics driver needed."""

from bmaml.rl.render.drawing import render, require_picture_name

__all__ = ["render", "require_picture_name"]
