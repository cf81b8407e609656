// What a program of Node does: parameters, types, a transaction, an error, a cursor of the pool.
const { Pool } = require("pg");

async function main() {
  const pool = new Pool({ connectionString: process.argv[2], max: 3 });
  const client = await pool.connect();
  await client.query("CREATE TABLE nodes (id INTEGER PRIMARY KEY, name TEXT, day DATE, data JSONB, tags TEXT[])");
  const made = await client.query("INSERT INTO nodes VALUES ($1, $2, $3, $4, $5)", [1, "Ada", "2020-02-29", { a: [1] }, ["x", "y"]]);
  console.log("inserted", made.rowCount);
  const text = "SELECT name, data, tags, day::text AS day FROM nodes WHERE id = $1";
  for (let i = 0; i < 2; i++) {
    const found = await client.query({ name: "point", text, values: [1] });
    console.log(JSON.stringify(found.rows));
  }
  await client.query("BEGIN");
  await client.query("DELETE FROM nodes");
  await client.query("ROLLBACK");
  try {
    await client.query("SELECT * FROM nowhere");
  } catch (error) {
    console.log("error", error.code, error.position);
  }
  client.release();
  const counts = await Promise.all([1, 2, 3].map(() => pool.query("SELECT count(*)::int AS n FROM nodes")));
  console.log("counts", counts.map((r) => r.rows[0].n).join(" "));
  await pool.end();
}

main().catch((error) => { console.error(error); process.exit(1); });
