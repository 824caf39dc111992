"""The command line: `longharness VERB [overrides…]`."""
