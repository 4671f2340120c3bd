// SPDX-License-Identifier: GPL-2.0
/* Memory that requests are copied to and from. */
#include <linux/vmalloc.h>
#include "store.h"

static char *store;

int store_init(size_t bytes)
{
	store = vzalloc(bytes);
	return store ? 0 : -ENOMEM;
}

void store_transfer(struct request *rq)
{
	char *at = store + (blk_rq_pos(rq) << SECTOR_SHIFT);
	struct req_iterator iter;
	struct bio_vec piece;

	rq_for_each_segment(piece, rq, iter) {
		if (op_is_write(req_op(rq)))
			memcpy_from_bvec(at, &piece);
		else
			memcpy_to_bvec(&piece, at);
		at += piece.bv_len;
	}
}

void store_exit(void)
{
	vfree(store);
}
