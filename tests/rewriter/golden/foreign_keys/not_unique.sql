-- A reference to what is not unique.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
CREATE TABLE main.d (n VARCHAR REFERENCES main.p (n));
-- refused PAL-211 (42P16)
-- (n) of main.p is neither its primary key nor UNIQUE
-- refer to columns that are, or add a UNIQUE constraint or index to the parent
