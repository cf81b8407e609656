"""The privacy desk: requests of people, from the day they come until they are answered."""
