"""`python -m budwood` is `budwood`."""

from budwood.cli import main

main()
