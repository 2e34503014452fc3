//! Frames as Apache Parquet files, uncompressed: a dependency less, and the files are small.
//!
//! Text is UTF-8 strings, whole numbers are unsigned 64-bit, numbers are doubles; a column that can miss values is
//! optional. One row group, no nesting.

use std::fmt;
use std::sync::Arc;

use ::parquet::basic::{ConvertedType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;

use crate::frame::{Column, Frame};

/// Why a frame could not be encoded.
#[derive(Debug)]
pub struct EncodeError(ParquetError);

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the Parquet encoder refused the columns ({}); write CSV instead",
            self.0
        )
    }
}
impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
impl From<ParquetError> for EncodeError {
    fn from(error: ParquetError) -> Self {
        Self(error)
    }
}

/// The frame as the bytes of a Parquet file.
///
/// # Errors
/// When the encoder refuses the columns.
pub fn write(frame: &Frame) -> Result<Vec<u8>, EncodeError> {
    let fields = frame
        .columns()
        .iter()
        .map(|(name, c)| field(name, c))
        .collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("clearway").with_fields(fields).build()?);
    let properties = Arc::new(
        WriterProperties::builder()
            .set_created_by(format!("clearway {}", env!("CARGO_PKG_VERSION")))
            .build(),
    );
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties)?;
    let mut group = file.next_row_group()?;
    for (_, column) in frame.columns() {
        let Some(mut writer) = group.next_column()? else {
            break;
        };
        fill(&mut writer, column)?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(name: &str, column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted, repetition) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::REQUIRED),
        Column::MaybeText(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::OPTIONAL),
        Column::Integer(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::REQUIRED),
        Column::Real(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::REQUIRED),
        Column::MaybeReal(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::OPTIONAL),
    };
    Type::primitive_type_builder(name, physical)
        .with_converted_type(converted)
        .with_repetition(repetition)
        .build()
        .map(Arc::new)
}

/// A value that is there has definition level 1, one that is missing 0 and no value.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|v| i16::from(v.is_some())).collect()
}

fn fill(writer: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<(), ParquetError> {
    match column {
        Column::Text(v) => {
            let values: Vec<ByteArray> = v.iter().map(|t| ByteArray::from(t.as_str())).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        }
        Column::MaybeText(v) => {
            let values: Vec<ByteArray> = v.iter().flatten().map(|t| ByteArray::from(t.as_str())).collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&values, Some(&levels(v)), None)?;
        }
        Column::Integer(v) => {
            // Parquet stores unsigned numbers in the bits of signed ones.
            let values: Vec<i64> = v.iter().map(|n| n.cast_signed()).collect();
            writer.typed::<Int64Type>().write_batch(&values, None, None)?;
        }
        Column::Real(v) => {
            writer.typed::<DoubleType>().write_batch(v, None, None)?;
        }
        Column::MaybeReal(v) => {
            let values: Vec<f64> = v.iter().copied().flatten().collect();
            writer
                .typed::<DoubleType>()
                .write_batch(&values, Some(&levels(v)), None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{comparisons, rows};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    fn read(bytes: Vec<u8>) -> Vec<Vec<(String, Field)>> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns())
            .collect()
    }

    #[test]
    fn rows_read_back_as_they_were_written() {
        let rows = rows();
        let back = read(write(&Frame::of_rows(&rows)).unwrap());
        assert_eq!(back.len(), rows.len());
        for (record, row) in back.iter().zip(&rows) {
            assert_eq!(record[0], ("run".to_owned(), Field::Str(row.run.clone())));
            assert_eq!(record[1], ("seed".to_owned(), Field::ULong(row.seed)));
            assert_eq!(record[3].1, Field::Str(row.name.clone()));
            let Field::Double(value) = record[8].1 else {
                panic!("{:?}", record[8])
            };
            assert_eq!(value.to_bits(), row.value.to_bits());
            assert_eq!(record[9].1, Field::Str(row.population.clone()));
        }
    }

    #[test]
    fn what_is_missing_is_null() {
        let back = read(write(&Frame::of_comparisons(&comparisons())).unwrap());
        let last = back.last().unwrap();
        assert_eq!(last[11], ("difference_percent".to_owned(), Field::Null));
        assert_eq!(last[12], ("verdict".to_owned(), Field::Null));
        assert_eq!(back[1][12].1, Field::Str("miss".into()));
    }

    #[test]
    fn an_empty_frame_is_a_file_without_rows() {
        assert_eq!(read(write(&Frame::of_rows(&[])).unwrap()).len(), 0);
        let bytes = write(&Frame::of_traces(&[])).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
}
