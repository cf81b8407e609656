// What a program in Go does: parameters, a transaction, a batch, COPY, an error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Args[1])
	check(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE gophers (id INTEGER PRIMARY KEY, name TEXT, score DOUBLE PRECISION, seen TIMESTAMPTZ, tags TEXT[])")
	check(err)
	tag, err := conn.Exec(ctx, "INSERT INTO gophers VALUES ($1, $2, $3, now(), $4)", 0, "zero", 0.5, []string{"a", "b"})
	check(err)
	fmt.Println("inserted", tag.RowsAffected())
	rows := [][]any{}
	for i := 1; i < 1000; i++ {
		rows = append(rows, []any{i, fmt.Sprintf("name %d", i), float64(i) / 2})
	}
	n, err := conn.CopyFrom(ctx, pgx.Identifier{"gophers"}, []string{"id", "name", "score"}, pgx.CopyFromRows(rows))
	check(err)
	fmt.Println("copied", n)
	var name string
	var tags []string
	check(conn.QueryRow(ctx, "SELECT name, tags FROM gophers WHERE id = $1", 0).Scan(&name, &tags))
	fmt.Println(name, tags)
	batch := &pgx.Batch{}
	for i := 0; i < 3; i++ {
		batch.Queue("UPDATE gophers SET score = score + 1 WHERE id = $1", i)
	}
	batch.Queue("SELECT sum(score) FROM gophers WHERE id < 3")
	results := conn.SendBatch(ctx, batch)
	for i := 0; i < 3; i++ {
		_, err = results.Exec()
		check(err)
	}
	var sum float64
	check(results.QueryRow().Scan(&sum))
	check(results.Close())
	fmt.Println("sum", sum)
	tx, err := conn.Begin(ctx)
	check(err)
	_, err = tx.Exec(ctx, "DELETE FROM gophers")
	check(err)
	check(tx.Rollback(ctx))
	var count int
	check(conn.QueryRow(ctx, "SELECT count(*) FROM gophers").Scan(&count))
	fmt.Println("count", count)
	var failed *pgconn.PgError
	_, err = conn.Exec(ctx, "SELECT * FROM nowhere")
	fmt.Println("error", errors.As(err, &failed), failed.Code)
}
