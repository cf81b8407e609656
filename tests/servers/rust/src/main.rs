// What a program in Rust does: types, transactions, COPY in binary both ways, a cancel.
use futures_util::{pin_mut, StreamExt, TryStreamExt};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, NoTls};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let dsn = std::env::args().nth(1).expect("a connection string");
    let (mut client, connection) = tokio_postgres::connect(&dsn, NoTls).await?;
    tokio::spawn(async move { connection.await.ok() });
    client.batch_execute("DROP TABLE IF EXISTS rust; CREATE TABLE rust (id INTEGER PRIMARY KEY, name TEXT, score DOUBLE PRECISION, big BIGINT)").await?;
    let n = client.execute("INSERT INTO rust VALUES ($1, $2, $3, $4)", &[&0i32, &"zero", &0.5f64, &7i64]).await?;
    println!("inserted {n}");
    let types = [Type::INT4, Type::TEXT, Type::FLOAT8, Type::INT8];
    let sink = client.copy_in("COPY rust FROM STDIN BINARY").await?;
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for i in 1..1000i32 {
        let name = if i % 10 == 0 { None } else { Some(format!("name {i}")) };
        writer.as_mut().write(&[&i, &name, &(i as f64 / 2.0), &(i as i64 * 1_000_000_000)]).await?;
    }
    println!("copied in {}", writer.finish().await?);
    let stream = client.copy_out("COPY (SELECT id, name, score, big FROM rust ORDER BY id) TO STDOUT (FORMAT binary)").await?;
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &types).try_collect().await?;
    let sum: i64 = rows.iter().map(|r| r.get::<i64>(3)).sum();
    let missing = rows.iter().filter(|r| r.get::<Option<&str>>(1).is_none()).count();
    println!("copied out {} sum {} missing {}", rows.len(), sum, missing);
    let tx = client.transaction().await?;
    tx.execute("DELETE FROM rust WHERE id > $1", &[&500i32]).await?;
    tx.rollback().await?;
    println!("count {}", client.query_one("SELECT count(*) FROM rust", &[]).await?.get::<_, i64>(0));
    let stream = client.query_raw("SELECT id FROM rust WHERE id < $1", &[50i32]).await?;
    println!("streamed {}", stream.count().await);
    let e = client.query("SELECT * FROM nowhere", &[]).await.unwrap_err();
    println!("error {}", e.code().unwrap().code());
    Ok(())
}
