"""Front ends for clients on the network: each translates a protocol to the session core."""
