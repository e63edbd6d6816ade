//! Parquet pages compressed with zstd, unpacked in Rust: the decoder of Parquet would bring a library in C for them.
//!
//! # Source
//! Apache Parquet, "Compression" and "Data Pages"; Collet, Kucherawy 2021, RFC 8878.

use ::parquet::basic::Compression;
use ::parquet::bloom_filter::Sbbf;
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{ChunkReader, RowGroupReader};
use ::parquet::file::serialized_reader::SerializedPageReader;
use ::parquet::record::reader::RowIter;
use ::parquet::schema::types::Type;
use ruzstd::decoding::StreamingDecoder;
use std::io::Read;
use std::sync::Arc;

/// Most bytes that a byte can stand for: a block of 128 KiB that repeats one byte takes four.
pub const RATIO: u64 = 1 << 15;

/// The least that every decoder remembers of what it has unpacked, by the advice of RFC 8878, section 3.1.1.1.2.
const WINDOW: u64 = 8 << 20;

/// A group of rows, whose pages may be compressed with zstd too.
pub struct Group<'a, R> {
    /// The whole file.
    pub source: Arc<R>,
    /// What its footer says of the group.
    pub metadata: &'a RowGroupMetaData,
}

impl<R: ChunkReader + 'static> RowGroupReader for Group<'_, R> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.metadata
    }

    fn num_columns(&self) -> usize {
        self.metadata.num_columns()
    }

    fn get_column_page_reader(&self, index: usize) -> Result<Box<dyn PageReader>> {
        let (column, rows) = (self.metadata.column(index), usize::try_from(self.metadata.num_rows())?);
        let pages = |column| SerializedPageReader::new(self.source.clone(), column, rows, None);
        if !matches!(column.compression(), Compression::ZSTD(_)) {
            return Ok(Box::new(pages(column)?));
        }
        // Said not to be compressed, pages come as they lie in the file.
        let packed = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let most = u64::try_from(column.uncompressed_size())?;
        Ok(Box::new(Unpacked { pages: Box::new(pages(&packed)?), most }))
    }

    fn get_column_bloom_filter(&self, _index: usize) -> Option<&Sbbf> {
        None
    }

    fn get_row_iter(&self, projection: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

/// Pages of one column, each unpacked.
struct Unpacked {
    pages: Box<dyn PageReader>,
    /// Bytes of all pages together, as the footer says.
    most: u64,
}

impl Unpacked {
    fn unpack(&self, page: Page) -> Result<Page> {
        Ok(match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => Page::DataPage {
                buf: unpacked(&buf, 0, self.most)?.into(),
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            },
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => Page::DictionaryPage {
                buf: unpacked(&buf, 0, self.most)?.into(),
                num_values,
                encoding,
                is_sorted,
            },
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => {
                let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
                Page::DataPageV2 {
                    buf: if is_compressed { unpacked(&buf, levels, self.most)?.into() } else { buf },
                    num_values,
                    encoding,
                    num_nulls,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed: false,
                    statistics,
                }
            }
        })
    }
}

impl Iterator for Unpacked {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Unpacked {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.map(|page| self.unpack(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// A page whose first `plain` bytes are not compressed, and that has at most `most` bytes.
fn unpacked(page: &[u8], plain: usize, most: u64) -> Result<Vec<u8>> {
    let wrong = |reason: String| ParquetError::General(format!("a page compressed with zstd: {reason}"));
    let (levels, packed) =
        page.split_at_checked(plain).ok_or_else(|| wrong("shorter than its header says".to_string()))?;
    let mut whole = levels.to_vec();
    // A page of nothing but empty cells has no values, and nothing to unpack.
    if !packed.is_empty() {
        let most = most.min(packed.len() as u64 * RATIO);
        let decoder = StreamingDecoder::new_with_max_window_size(packed, most.max(WINDOW))
            .map_err(|error| wrong(error.to_string()))?;
        decoder.take(most + 1).read_to_end(&mut whole).map_err(|error| wrong(error.to_string()))?;
        if (whole.len() - plain) as u64 > most {
            return Err(wrong(format!("more than the {most} bytes that were promised")));
        }
    }
    Ok(whole)
}
