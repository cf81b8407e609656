"""The privacy desk: requests of people, from receipt to answer."""
