/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Bios in flight, found by their address.
 *
 * Each may stand in one of a few places, which follow from its address. A kernel hash would do, but its locks and lists
 * cost more than everything else that is done for an I/O: with it, queueing and ending a bio took 360 and 318 ns.
 * Two CPUs that take the same place within the same few ns overwrite each other, and the one that came first is unmatched.
 */
#ifndef IOSTACK_BIOS_H
#define IOSTACK_BIOS_H

#include "kernel.h"

#define PLACES 32768
/* A bio may stand here or in the next ones. */
#define PLACES_EACH 8
/* What has not ended by then never will: its end was not seen. */
#define STALE_NS 60000000000ULL

#ifndef FLIGHT_DEFINED
/* Where the stamps of a bio's I/O are. */
enum owner { OWNER_NONE, OWNER_SLOT, OWNER_FLIGHT };

struct flight {
	/* Its bio; 0: the place is free. */
	__u64 bio;
	__u64 owner;
	/* Index into `slots` or key of `flights`. */
	__u64 key;
	__u64 sequence;
	__u64 device;
	__u64 flags;
	/* Bytes that have not come back. */
	__u64 left;
	__u64 queue;
	__u64 insert;
	__u64 issue;
	__u64 doorbell;
};
#endif

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(PLACES);
	MAP_KEY(__u32);
	MAP_VALUE(struct flight);
} bios SECTION(".maps");

ALWAYS_INLINE struct flight *flight_at(__u32 place)
{
	return bpf_map_lookup_elem(&bios, &place);
}

/* Fibonacci hashing: the upper bits of the product are the mixed ones. */
ALWAYS_INLINE __u32 place_of(__u64 bio, __u32 step)
{
	__u32 first = (bio >> 6) * 0x9e3779b97f4a7c15ULL >> 49;

	return (first + step) & (PLACES - 1);
}

/* Where a bio stands; PLACES when it is not one of ours. Global, so that the verifier looks at it once, not at each call. */
__attribute__((noinline)) __u32 find_place(__u64 bio)
{
	__u32 step;

	for (step = 0; bio && step < PLACES_EACH; step++) {
		__u32 place = place_of(bio, step);
		struct flight *flight = flight_at(place);

		if (flight && flight->bio == bio)
			return place;
	}
	return PLACES;
}

/* The flight of a bio; 0 when it is not one of ours. */
ALWAYS_INLINE struct flight *find_flight(__u64 bio)
{
	return flight_at(find_place(bio));
}

/* A place for a bio that is queued now; 0 when all are taken. */
ALWAYS_INLINE struct flight *new_flight(__u64 bio, __u64 now)
{
	struct flight *stale = 0;
	__u32 step;

	for (step = 0; step < PLACES_EACH; step++) {
		struct flight *place = flight_at(place_of(bio, step));

		if (place && (!place->bio || place->bio == bio))
			return place;
		if (place && place->queue + STALE_NS < now)
			stale = place;
	}
	return stale;
}

#endif
