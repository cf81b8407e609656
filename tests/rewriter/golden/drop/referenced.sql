-- A table that rows refer to.
-- setup
CREATE TABLE main.p (a INTEGER PRIMARY KEY, n VARCHAR);
CREATE TABLE main.c (k INTEGER PRIMARY KEY, x INTEGER REFERENCES main.p (a), v VARCHAR);
CREATE TABLE main.tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES main.tree (id));
INSERT INTO main.p VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO main.c VALUES (1, 1, 'a'), (2, NULL, 'b');
INSERT INTO main.tree VALUES (1, NULL);
-- statement
DROP TABLE main.p;
-- refused PAL-210 (2BP01)
-- main.p cannot be dropped: "c_x_fkey" of main.c refers to it
-- ALTER TABLE main.c DROP CONSTRAINT "c_x_fkey", or drop main.c too
