/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs back to text, as it would be written in horizon.conf.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/parse.h"

int hz_print_size(char *buf, size_t len, struct hz_size size)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	unsigned i = 0;

	if (size.percent)
		return hz_format(buf, len, "%u%%", size.percent);
	if (size.bytes == HZ_SIZE_AUTO)
		return hz_format(buf, len, "auto");
	while (size.bytes && i < 4 && !(size.bytes % 1024)) {
		size.bytes /= 1024;
		i++;
	}
	return hz_format(buf, len, "%lu%s", size.bytes, units[i]);
}

int hz_knob_print(const struct hz_knob_row *row, char *buf, size_t len)
{
	const void *at = (const char *)&hz_knobs + row->offset;
	char word[32] = "";

	switch (row->type) {
	case HZ_KNOB_SIZE:
		return hz_print_size(buf, len, *(const struct hz_size *)at);
	case HZ_KNOB_STRING:
		return hz_format(buf, len, "%s", (const char *)at);
	case HZ_KNOB_ENUM:
		hz_word_at(row->words, (unsigned)*(const int64_t *)at, word,
			   sizeof(word));
		return hz_format(buf, len, "%s", word);
	default:
		return hz_format(buf, len, "%lld",
				 (long long)*(const int64_t *)at);
	}
}

/* Every default stands in the table as it is printed, so text is compared
 * with text. */
bool hz_knob_is_set(const struct hz_knob_row *row)
{
	char text[sizeof(hz_knob_STRING)];

	hz_knob_print(row, text, sizeof(text));
	return strcmp(text, row->def) != 0;
}
