// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/block/tmerge0/tmerge: the subsystem and the statistics.
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "internal.h"

static struct tmerge *tmerge_of(struct device *device)
{
	return dev_to_disk(device)->private_data;
}

static ssize_t subsystem_show(struct device *device,
			      struct device_attribute *attribute, char *page)
{
	const char *now = READ_ONCE(tmerge_of(device)->subsystem)->name;
	const char *name;
	unsigned int i;
	int length = 0;

	for (i = 0; (name = tmerge_subsystem_name(i)); i++)
		length += sysfs_emit_at(page, length,
					name == now ? "%s[%s]" : "%s%s",
					i ? " " : "", name);
	return length + sysfs_emit_at(page, length, "\n");
}

static ssize_t subsystem_store(struct device *device,
			       struct device_attribute *attribute,
			       const char *page, size_t length)
{
	int err = tmerge_subsystem_select(tmerge_of(device), page);

	return err ? err : length;
}
static DEVICE_ATTR_RW(subsystem);

static ssize_t tmerge_show_count(struct device *device, char *page, u64 *count)
{
	struct tmerge_server *server = &tmerge_of(device)->server;
	u64 value;

	spin_lock_irq(&server->lock);
	value = *count;
	spin_unlock_irq(&server->lock);
	return sysfs_emit(page, "%llu\n", value);
}

static ssize_t commands_show(struct device *device,
			     struct device_attribute *attribute, char *page)
{
	return tmerge_show_count(device, page,
				 &tmerge_of(device)->server.stats.commands);
}
static DEVICE_ATTR_RO(commands);

static ssize_t merged_requests_show(struct device *device,
				    struct device_attribute *attribute, char *page)
{
	return tmerge_show_count(device, page,
				 &tmerge_of(device)->server.stats.merged_requests);
}
static DEVICE_ATTR_RO(merged_requests);

static ssize_t winners_show(struct device *device,
			    struct device_attribute *attribute, char *page)
{
	return tmerge_show_count(device, page,
				 &tmerge_of(device)->server.stats.winners);
}
static DEVICE_ATTR_RO(winners);

/* One line for each size of command that occurred: requests, commands. */
static ssize_t batch_histogram_show(struct device *device,
				    struct device_attribute *attribute,
				    char *page)
{
	struct tmerge_server *server = &tmerge_of(device)->server;
	struct tmerge_stats *stats;
	unsigned int i;
	int length = 0;

	stats = kmalloc(sizeof(*stats), GFP_KERNEL);
	if (!stats)
		return -ENOMEM;
	spin_lock_irq(&server->lock);
	*stats = server->stats;
	spin_unlock_irq(&server->lock);
	for (i = 1; i < ARRAY_SIZE(stats->batches); i++)
		if (stats->batches[i])
			length += sysfs_emit_at(page, length, "%u %llu\n",
						i, stats->batches[i]);
	kfree(stats);
	return length;
}
static DEVICE_ATTR_RO(batch_histogram);

/* What hybrid temporal merge has learnt, and what holding back gave. */
static ssize_t hybrid_show(struct device *device,
			   struct device_attribute *attribute, char *page)
{
	struct tmerge_hybrid *hybrid = &tmerge_of(device)->hybrid;
	struct tmerge_cost cost;
	u64 holds, holds_paid;
	s64 return_ns;

	spin_lock_irq(&hybrid->lock);
	cost = hybrid->cost;
	return_ns = hybrid->return_ns;
	holds = hybrid->holds;
	holds_paid = hybrid->holds_paid;
	spin_unlock_irq(&hybrid->lock);
	return sysfs_emit(page,
			  "fixed_ns %lld\npage_ns %lld\nreturn_ns %lld\nholds %llu\nholds_paid %llu\n",
			  cost.fixed_ns, cost.page_ns, return_ns, holds,
			  holds_paid);
}
static DEVICE_ATTR_RO(hybrid);

static ssize_t reset_store(struct device *device,
			   struct device_attribute *attribute,
			   const char *page, size_t length)
{
	struct tmerge_server *server = &tmerge_of(device)->server;
	struct tmerge_hybrid *hybrid = &tmerge_of(device)->hybrid;
	bool yes;
	int err = kstrtobool(page, &yes);

	if (err)
		return err;
	if (!yes)
		return -EINVAL;
	spin_lock_irq(&server->lock);
	memset(&server->stats, 0, sizeof(server->stats));
	spin_unlock_irq(&server->lock);
	spin_lock_irq(&hybrid->lock);
	hybrid->holds = 0;
	hybrid->holds_paid = 0;
	spin_unlock_irq(&hybrid->lock);
	return length;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *tmerge_attributes[] = {
	&dev_attr_subsystem.attr,
	&dev_attr_commands.attr,
	&dev_attr_merged_requests.attr,
	&dev_attr_winners.attr,
	&dev_attr_batch_histogram.attr,
	&dev_attr_hybrid.attr,
	&dev_attr_reset.attr,
	NULL
};

static const struct attribute_group tmerge_group = {
	.name = "tmerge",
	.attrs = tmerge_attributes,
};

const struct attribute_group *tmerge_groups[] = {
	&tmerge_group,
	NULL
};
