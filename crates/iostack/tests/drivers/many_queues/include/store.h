/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that requests are copied to and from. */
#include <linux/blk-mq.h>

int store_init(size_t bytes);
void store_transfer(struct request *rq);
void store_exit(void);
