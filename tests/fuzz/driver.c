/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer: each FILE as it is, then N mutations of
 * it. The same numbers come in every run, so that what breaks breaks again.
 *
 * driver N FILE...
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"

#define SIZE_MAX_BYTES ((size_t)1 << 16)
/* Changes of one mutation, and the longest piece that is copied or cut. */
#define CHANGES_MAX 4
#define PIECE_MAX   64

struct input {
	uint8_t *data;
	size_t size;
};

static uint64_t state = 0x9e3779b97f4a7c15ull;

static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)((state >> 11) % n) : 0;
}

static struct input read_file(const char *path)
{
	struct input in = {malloc(SIZE_MAX_BYTES), 0};
	FILE *f = fopen(path, "rb");

	if (!f || !in.data) {
		fprintf(stderr, "driver: %s cannot be read\n", path);
		exit(1);
	}
	in.size = fread(in.data, 1, SIZE_MAX_BYTES, f);
	fclose(f);
	return in;
}

static void change_byte(struct input *in)
{
	static const uint8_t words[] = {0,    0xff, 0x7f, 0x80, '\t', ',',
					'\n', '0',  '9',  '-',	'T',  'K'};
	uint8_t *at = &in->data[below(in->size)];

	if (below(2))
		*at ^= (uint8_t)(1u << below(8));
	else
		*at = words[below(sizeof(words))];
}

static void cut_out(struct input *in)
{
	size_t at = below(in->size), n = 1 + below(PIECE_MAX);

	n = hz_min(n, in->size - at);
	memmove(in->data + at, in->data + at + n, in->size - at - n);
	in->size -= n;
}

/* A piece of it once more, somewhere else. */
static void copy_in(struct input *in)
{
	size_t from = below(in->size), to = below(in->size);
	size_t n = 1 + below(PIECE_MAX);
	uint8_t piece[PIECE_MAX];

	n = hz_min(n, in->size - from);
	n = hz_min(n, SIZE_MAX_BYTES - in->size);
	memcpy(piece, in->data + from, n);
	memmove(in->data + to + n, in->data + to, in->size - to);
	memcpy(in->data + to, piece, n);
	in->size += n;
}

static void mutate(struct input *in)
{
	for (size_t i = 0, n = 1 + below(CHANGES_MAX); i < n && in->size; i++) {
		switch (below(8)) {
		case 0:
			cut_out(in);
			break;
		case 1:
			copy_in(in);
			break;
		case 2:
			in->size = 1 + below(in->size);
			break;
		default:
			change_byte(in);
		}
	}
}

/* From memory of just its size, so that a sanitizer sees what is beyond. */
static void run(const struct input *in)
{
	uint8_t *data = malloc(in->size ? in->size : 1);

	memcpy(data, in->data, in->size);
	LLVMFuzzerTestOneInput(data, in->size);
	free(data);
}

int main(int argc, char **argv)
{
	struct input work = {malloc(SIZE_MAX_BYTES), 0};
	unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, runs = 0;

	if (argc < 3 || !work.data)
		return 2;
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 2; i < argc; i++) {
		struct input in = read_file(argv[i]);

		run(&in);
		for (unsigned long m = 0; m < n; m++, runs++) {
			work.size = in.size;
			memcpy(work.data, in.data, in.size);
			mutate(&work);
			run(&work);
		}
		free(in.data);
	}
	free(work.data);
	printf("%lu mutations of %d files\n", runs, argc - 2);
	return 0;
}
