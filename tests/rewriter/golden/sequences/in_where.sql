-- How often a call in WHERE is made is up to the store.
-- run: no: numbers are counted by a session
-- setup
CREATE SEQUENCE main.s;
CREATE TABLE main.t (k INTEGER PRIMARY KEY, a INTEGER);
-- statement
SELECT a FROM main.t WHERE k < nextval('s');
-- refused PAL-110 (0A000)
-- no number of a sequence can be taken in WHERE
-- list it in a SELECT
