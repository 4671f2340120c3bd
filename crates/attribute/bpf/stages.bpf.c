/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stamps of each I/O's way. */
#include "stages.h"

/* 1 where block_rq_issue hands over (queue, request): before 5.11. */
const volatile __u64 request_argument;

struct {
	MAP_TYPE(BPF_MAP_TYPE_ARRAY);
	MAP_ENTRIES(1);
	MAP_FLAGS(BPF_F_MMAPABLE);
	MAP_KEY(__u32);
	MAP_VALUE(__u64);
} counts SECTION(".maps");

SECTION("tp_btf/block_rq_issue")
int block_rq_issue(__u64 *context)
{
	__u32 zero = 0;
	struct request *request = first_argument(context, request_argument);
	__u64 *count = bpf_map_lookup_elem(&counts, &zero);

	if (count && request->bio)
		__sync_fetch_and_add(count, 1);
	return 0;
}

char LICENSE[] SECTION("license") = "Dual MIT/GPL";
