//! How are many blocks scattered at once?

/// Blocks scattered together.
pub(crate) const LANES: usize = 64;

pub(super) const ODD: [u64; 3] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0x9e37_79b9_7f4a_7c15];
const _: () = assert!(ODD[0] & ODD[1] & ODD[2] & 1 == 1);

/// Blocks that are scattered together.
pub(crate) type Lanes = [u32; LANES];

/// Steps that scatter blocks, by a mask of at most 32 bits.
pub(crate) struct Steps {
    pub(crate) keys: [u64; 3],
    pub(crate) mask: u32,
    pub(crate) shift: u32,
}

/// Does to many blocks what [`super::shuffle::Shuffle`] does to one.
#[inline]
pub(crate) fn scatter_each(steps: &Steps, lanes: &mut Lanes) {
    let &Steps { keys, mask, shift } = steps;
    for lane in lanes {
        let mut x = *lane;
        for (key, odd) in keys.into_iter().zip(ODD) {
            x = (x ^ key as u32).wrapping_mul(odd as u32) & mask;
            x ^= x >> shift;
        }
        *lane = x;
    }
}
