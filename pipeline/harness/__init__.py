"""The method, pure: states, operations and the episode loop (design contract, sections 1 to 9)."""
