"""The command line's commands, one file each; ``gateway.cli`` lists them."""
