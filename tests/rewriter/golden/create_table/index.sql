-- An index is refused.
-- setup
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER, b VARCHAR DEFAULT 'none');
INSERT INTO main.t (k, a) VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM main.t WHERE k = 3;
-- statement
CREATE INDEX i ON main.t (a);
-- refused PAL-110 (0A000)
-- CREATE INDEX is not supported
-- leave it out: lookups by PRIMARY KEY and UNIQUE need no index; for uniqueness write ALTER TABLE .. ADD UNIQUE (..)
