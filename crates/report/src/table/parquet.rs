//! A table as an Apache Parquet file.
//!
//! ```text
//!   "PAR1"  page of column 1  page of column 2  ..  metadata  its length (u32)  "PAR1"
//!           header, levels, values                  Thrift, compact protocol
//! ```
//!
//! One row group, one page a column, plain values, nothing compressed: a table of a sweep is small. That takes a file of
//! 200 lines; the library that does everything Parquet can takes twenty crates. Layout and field numbers:
//! <https://github.com/apache/parquet-format>, `README.md` and `src/main/thrift/parquet.thrift`. Start reading at
//! [`parquet`].

use super::{Cells, Table};

const MAGIC: &[u8; 4] = b"PAR1";

/// `Type` of parquet.thrift.
const INT64: u64 = 2;
const DOUBLE: u64 = 5;
const BYTE_ARRAY: u64 = 6;
/// Value of `FieldRepetitionType.OPTIONAL`.
const OPTIONAL: u64 = 1;
/// Value of `ConvertedType.UTF8`.
const UTF8: u64 = 0;
/// `Encoding.PLAIN` and `Encoding.RLE`.
const PLAIN: u64 = 0;
const RLE: u64 = 3;

/// The whole file.
pub fn parquet(table: &Table) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let chunks = table.columns.iter().map(|column| {
        let (start, data) = (file.len(), page(&column.cells));
        file.extend(page_header(data.len(), column.cells.len()));
        file.extend(data);
        Chunk { name: &column.name, kind: kind(&column.cells), start, length: file.len() - start }
    });
    let metadata = metadata(&chunks.collect::<Vec<_>>(), table.rows());
    file.extend(&metadata);
    file.extend((metadata.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    file
}

/// A column as it lies in the file.
struct Chunk<'a> {
    name: &'a str,
    kind: u64,
    start: usize,
    length: usize,
}

fn kind(cells: &Cells) -> u64 {
    match cells {
        Cells::Text(_) => BYTE_ARRAY,
        Cells::Counts(_) => INT64,
        Cells::Numbers(_) => DOUBLE,
    }
}

/// Bytes of a page: which cells are there (definition levels), then those that are.
fn page(cells: &Cells) -> Vec<u8> {
    let values: Vec<Option<Vec<u8>>> = (0..cells.len()).map(|row| value(cells, row)).collect();
    let levels = levels(&values.iter().map(Option::is_some).collect::<Vec<_>>());
    let mut page = (levels.len() as u32).to_le_bytes().to_vec();
    page.extend(levels);
    page.extend(values.into_iter().flatten().flatten());
    page
}

fn value(cells: &Cells, row: usize) -> Option<Vec<u8>> {
    match cells {
        Cells::Text(cells) => {
            let text = cells[row].as_ref()?;
            Some([&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat())
        }
        Cells::Counts(cells) => Some(cells[row]?.to_le_bytes().to_vec()),
        Cells::Numbers(cells) => Some(cells[row]?.to_le_bytes().to_vec()),
    }
}

/// Runs of equal levels: twice the length as a variable-length number, then the level.
fn levels(there: &[bool]) -> Vec<u8> {
    let mut out = Vec::new();
    for run in there.chunk_by(|a, b| a == b) {
        varint(&mut out, (run.len() as u64) << 1);
        out.push(u8::from(run[0]));
    }
    out
}

fn page_header(length: usize, rows: usize) -> Vec<u8> {
    let mut header = Thrift::default();
    header.int(1, 0); // DATA_PAGE
    header.int(2, length as u64);
    header.int(3, length as u64);
    header.structure(5, |data| {
        data.int(1, rows as u64);
        data.int(2, PLAIN);
        data.int(3, RLE);
        data.int(4, RLE);
    });
    header.end()
}

fn metadata(chunks: &[Chunk<'_>], rows: usize) -> Vec<u8> {
    let mut file = Thrift::default();
    file.int(1, 1);
    file.list(2, 12, chunks.len() + 1, |list| {
        list.item(|root| {
            root.text(4, "schema");
            root.int(5, chunks.len() as u64);
        });
        for chunk in chunks {
            list.item(|leaf| {
                leaf.int(1, chunk.kind);
                leaf.int(3, OPTIONAL);
                leaf.text(4, chunk.name);
                if chunk.kind == BYTE_ARRAY {
                    leaf.int(6, UTF8);
                }
            });
        }
    });
    file.long(3, rows as u64);
    file.list(4, 12, 1, |groups| groups.item(|group| row_group(group, chunks, rows)));
    file.text(6, concat!("iostack ", env!("CARGO_PKG_VERSION")));
    file.end()
}

fn row_group(group: &mut Thrift, chunks: &[Chunk<'_>], rows: usize) {
    group.list(1, 12, chunks.len(), |list| {
        for chunk in chunks {
            list.item(|column| {
                column.long(2, chunk.start as u64);
                column.structure(3, |meta| {
                    meta.int(1, chunk.kind);
                    meta.list(2, 5, 2, |encodings| {
                        encodings.zigzag(PLAIN);
                        encodings.zigzag(RLE);
                    });
                    meta.list(3, 8, 1, |path| path.bytes(chunk.name));
                    meta.int(4, 0); // UNCOMPRESSED
                    meta.long(5, rows as u64);
                    meta.long(6, chunk.length as u64);
                    meta.long(7, chunk.length as u64);
                    meta.long(9, chunk.start as u64);
                });
            });
        }
    });
    group.long(2, chunks.iter().map(|chunk| chunk.length as u64).sum());
    group.long(3, rows as u64);
}

/// Writes a structure of Thrift's compact protocol: each field says how far its number is from the one before.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    field: u8,
}

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        assert!(number > self.field && number - self.field < 16, "fields are written in order");
        self.bytes.push((number - self.field) << 4 | kind);
        self.field = number;
    }

    /// A signed number that is not negative: the lowest bit is the sign.
    fn zigzag(&mut self, value: u64) {
        varint(&mut self.bytes, value << 1);
    }

    fn bytes(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn int(&mut self, number: u8, value: u64) {
        self.field(number, 5);
        self.zigzag(value);
    }

    fn long(&mut self, number: u8, value: u64) {
        self.field(number, 6);
        self.zigzag(value);
    }

    fn text(&mut self, number: u8, value: &str) {
        self.field(number, 8);
        self.bytes(value);
    }

    fn structure(&mut self, number: u8, write: impl FnOnce(&mut Thrift)) {
        self.field(number, 12);
        self.item(write);
    }

    /// A structure by itself, as an element of a list.
    fn item(&mut self, write: impl FnOnce(&mut Thrift)) {
        let field = std::mem::take(&mut self.field);
        write(self);
        self.bytes.push(0);
        self.field = field;
    }

    fn list(&mut self, number: u8, kind: u8, count: usize, write: impl FnOnce(&mut Thrift)) {
        self.field(number, 9);
        if count < 15 {
            self.bytes.push((count as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(&mut self.bytes, count as u64);
        }
        write(self);
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_thrift_writes_them() {
        let mut thrift = Thrift::default();
        thrift.int(1, 0);
        thrift.int(3, 150);
        thrift.long(4, 3);
        thrift.text(6, "é");
        thrift.list(7, 5, 15, |list| (0..15).for_each(|_| list.zigzag(1)));
        let begin = [0x15, 0, 0x25, 0xac, 0x02, 0x16, 0x06, 0x28, 2, 0xc3, 0xa9, 0x19, 0xf5, 15];
        let bytes = thrift.end();
        assert_eq!(bytes[..begin.len()], begin);
        assert_eq!(bytes[begin.len()..], [&[2; 15][..], &[0]].concat());
    }

    #[test]
    fn missing_cells_are_runs_of_levels() {
        assert_eq!(levels(&[true, true, true, false, true]), [6, 1, 2, 0, 2, 1]);
        assert_eq!(levels(&[true; 100]), [0xc8, 1, 1]);
        assert_eq!(levels(&[]), [0; 0]);
    }
}
