"""The mouse tools, in the order of their keys.

A tool turns a held mouse button into events, once a tick, in world units. It knows neither pixels
nor the window, so a recording of its events means the same on every screen.
"""

from __future__ import annotations

from app.ui.tools.brush import Brush
from app.ui.tools.erase import EraseTool
from app.ui.tools.grab import GrabTool
from app.ui.tools.paint import PaintTool
from app.ui.tools.push import PushTool
from app.ui.tools.stroke import Stroke, Tool

__all__ = ["TOOLS", "Brush", "EraseTool", "GrabTool", "PaintTool", "PushTool", "Stroke", "Tool"]

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (GrabTool(), PushTool(), PaintTool(), EraseTool())
}
