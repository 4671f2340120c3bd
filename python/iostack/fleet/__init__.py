"""The same on many hosts: who differs from its equals, in what, and why? `python3 -m iostack.fleet`; start reading at `__main__`."""
