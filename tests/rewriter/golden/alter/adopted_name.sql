-- A table over an adopted journal keeps the name that other tools know.
-- run: no: only a database has adopted journals; tests/database adopts some
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY) WITH (adopted = 'timestamp');
-- statement
ALTER TABLE main.t RENAME TO renamed;
-- refused PAL-110 (0A000)
-- main.t has an adopted journal, and other tools know it by its name
-- palimpsest eject it, rename what that leaves, and adopt it again
