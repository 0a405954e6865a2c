"""The panels: each file draws one with ImGui from a `Workbench`, and acts through it alone."""
