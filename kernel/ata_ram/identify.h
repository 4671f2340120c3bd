/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the disk says about itself: IDENTIFY DEVICE, words as in ATA8-ACS.
 *
 * It claims ATA-7 and no log pages, so that libata does not ask for pages that nobody answers, and
 * no write cache, because what it reported as written is on the medium.
 */
#ifndef IOSTACK_ATA_RAM_IDENTIFY_H
#define IOSTACK_ATA_RAM_IDENTIFY_H

#include <linux/ata.h>
#include <linux/kernel.h>
#include <linux/string.h>

/* Two characters to a word, the first in the upper half, filled with spaces. */
static void ata_ram_string(u16 *id, unsigned int word, unsigned int word_count, const char *text)
{
	unsigned int place;

	for (place = 0; place < 2 * word_count; place++) {
		u16 letter = *text ? *text++ : ' ';

		id[word + place / 2] |= place % 2 ? letter : letter << 8;
	}
}

/**
 * ata_ram_identify() - the 256 words, in the CPU's byte order turned into the device's
 * @id: where to
 * @lba_count: capacity in blocks of 512 bytes
 * @depth: commands that it queues, 1 to 32
 * @discards: whether it knows TRIM
 */
static void ata_ram_identify(u16 *id, u64 lba_count, unsigned int depth, bool discards)
{
	unsigned int word;
	u32 lba28_count = min_t(u64, lba_count, 0x0fffffff);

	memset(id, 0, ATA_ID_WORDS * sizeof(*id));
	id[0] = 0x0040; /* a fixed disk */
	id[1] = 16383; /* cylinders, heads, sectors: of no meaning since */
	id[3] = 16;
	id[6] = 63;
	ata_ram_string(id, ATA_ID_SERNO, 10, "1");
	ata_ram_string(id, ATA_ID_FW_REV, 4, "1.0");
	ata_ram_string(id, ATA_ID_PROD, 20, "iostack ata_ram");
	id[47] = 0x8000; /* one sector for each interrupt of PIO */
	id[ATA_ID_CAPABILITY] = 0x0f00; /* DMA, LBA, IORDY */
	id[50] = 0x4000;
	id[ATA_ID_FIELD_VALID] = 0x0006; /* words 64 to 70, and 88 */
	id[ATA_ID_LBA_CAPACITY] = lba28_count;
	id[ATA_ID_LBA_CAPACITY + 1] = lba28_count >> 16;
	id[ATA_ID_MWDMA_MODES] = 0x0007;
	id[ATA_ID_PIO_MODES] = 0x0003;
	id[65] = 120; /* nanoseconds of a cycle */
	id[66] = 120;
	id[ATA_ID_EIDE_PIO] = 120;
	id[ATA_ID_EIDE_PIO_IORDY] = 120;
	if (discards)
		id[ATA_ID_ADDITIONAL_SUPP] = 0x4020; /* trimmed blocks read as zeroes, always */
	id[ATA_ID_QUEUE_DEPTH] = depth - 1;
	id[ATA_ID_SATA_CAPABILITY] = 0x0106; /* 1.5 and 3 Gb/s, NCQ */
	id[ATA_ID_MAJOR_VER] = 0x00f0; /* ATA-4 to ATA-7 */
	id[ATA_ID_COMMAND_SET_2] = 0x7400; /* FLUSH CACHE, FLUSH CACHE EXT, 48 bits */
	id[ATA_ID_CFSSE] = 0x4000;
	id[ATA_ID_CFS_ENABLE_2] = 0x3400;
	id[ATA_ID_CSF_DEFAULT] = 0x4000;
	id[ATA_ID_UDMA_MODES] = 0x007f;
	id[ATA_ID_LBA_CAPACITY_2] = lba_count;
	id[ATA_ID_LBA_CAPACITY_2 + 1] = lba_count >> 16;
	id[ATA_ID_LBA_CAPACITY_2 + 2] = lba_count >> 32;
	id[ATA_ID_LBA_CAPACITY_2 + 3] = lba_count >> 48;
	if (discards) {
		id[105] = 1; /* sectors of ranges in one command */
		id[ATA_ID_DATA_SET_MGMT] = 1;
	}
	id[ATA_ID_SECTOR_SIZE] = 0x4000; /* 512 bytes, physical too */
	id[ATA_ID_ROT_SPEED] = 1; /* does not rotate */
	for (word = 0; word < ATA_ID_WORDS; word++)
		id[word] = (__force u16)cpu_to_le16(id[word]);
}

#endif
