//! ChaCha20 for sixteen blocks at once, for processors with AVX-512: as for [eight](crate::eight_blocks), with rotations that are one
//! instruction each.
//!
//! # Source
//!
//! Bernstein 2008, "ChaCha, a variant of Salsa20".

use std::arch::x86_64::*;

/// Blocks made together.
pub(super) const BLOCKS: usize = 16;

/// Writes blocks `first`, `first + 1`, ... of the stream that begins with these words.
#[target_feature(enable = "avx512f")]
pub(super) fn write(initial: &[u32; 16], first: u64, blocks: &mut [[u8; 64]; BLOCKS]) {
    let mut words = initial.map(|word| _mm512_set1_epi32(word as i32));
    let counters: [u64; BLOCKS] = std::array::from_fn(|block| first.wrapping_add(block as u64));
    words[12] = lanes(counters.map(|counter| counter as u32));
    words[13] = lanes(counters.map(|counter| (counter >> 32) as u32));
    let start = words;
    for _ in 0..10 {
        quarter::<0, 4, 8, 12>(&mut words);
        quarter::<1, 5, 9, 13>(&mut words);
        quarter::<2, 6, 10, 14>(&mut words);
        quarter::<3, 7, 11, 15>(&mut words);
        quarter::<0, 5, 10, 15>(&mut words);
        quarter::<1, 6, 11, 12>(&mut words);
        quarter::<2, 7, 8, 13>(&mut words);
        quarter::<3, 4, 9, 14>(&mut words);
    }
    for (word, start) in words.iter_mut().zip(start) {
        *word = _mm512_add_epi32(*word, start);
    }
    for (block, row) in blocks.iter_mut().zip(transposed(words)) {
        // SAFETY: a block is 64 bytes long, and the store asks for no alignment.
        unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), row) };
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn lanes(words: [u32; BLOCKS]) -> __m512i {
    // SAFETY: sixteen words are 64 bytes, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// The quarter round on words A, B, C and D of every block.
#[target_feature(enable = "avx512f")]
#[inline]
fn quarter<const A: usize, const B: usize, const C: usize, const D: usize>(words: &mut [__m512i; 16]) {
    words[A] = _mm512_add_epi32(words[A], words[B]);
    words[D] = _mm512_rol_epi32::<16>(_mm512_xor_si512(words[D], words[A]));
    words[C] = _mm512_add_epi32(words[C], words[D]);
    words[B] = _mm512_rol_epi32::<12>(_mm512_xor_si512(words[B], words[C]));
    words[A] = _mm512_add_epi32(words[A], words[B]);
    words[D] = _mm512_rol_epi32::<8>(_mm512_xor_si512(words[D], words[A]));
    words[C] = _mm512_add_epi32(words[C], words[D]);
    words[B] = _mm512_rol_epi32::<7>(_mm512_xor_si512(words[B], words[C]));
}

/// Turns sixteen words of sixteen blocks into sixteen blocks of sixteen words.
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(words: [__m512i; 16]) -> [__m512i; 16] {
    let mut fours = [[_mm512_setzero_si512(); 4]; 4];
    for (four, words) in fours.iter_mut().zip(words.as_chunks::<4>().0) {
        // Pairs of words, then fours: quarter q of vector j holds four words of block 4q + j.
        let [a, b, c, d] = *words;
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        *four = [
            _mm512_unpacklo_epi64(ab, cd),
            _mm512_unpackhi_epi64(ab, cd),
            _mm512_unpacklo_epi64(ab_high, cd_high),
            _mm512_unpackhi_epi64(ab_high, cd_high),
        ];
    }
    let mut blocks = [_mm512_setzero_si512(); 16];
    for place in 0..4 {
        let [a, b, c, d] = fours.map(|four| four[place]);
        // Even and odd quarters of two vectors, then of all four.
        let (even, odd) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (even_behind, odd_behind) =
            (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
        blocks[place] = _mm512_shuffle_i32x4::<0x88>(even, even_behind);
        blocks[4 + place] = _mm512_shuffle_i32x4::<0x88>(odd, odd_behind);
        blocks[8 + place] = _mm512_shuffle_i32x4::<0xdd>(even, even_behind);
        blocks[12 + place] = _mm512_shuffle_i32x4::<0xdd>(odd, odd_behind);
    }
    blocks
}
