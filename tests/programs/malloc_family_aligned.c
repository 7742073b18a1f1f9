/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to get memory ends in free and realloc, whoever served it.
 */
#include <malloc.h>
#include <stdio.h>
#include "both.h"

static const size_t sizes[] = {
        1, 24, 100, 4096, 70000, 1 << 20, (1 << 20) + 1, 3 << 20, 9 << 20};

/* Write it, grow it, free it. */
static void use(char *p, size_t n, size_t align)
{
	CHECK(p);
	CHECK((uintptr_t)p % align == 0);
	CHECK(malloc_usable_size(p) >= n);
	fill(p, n, (unsigned)align);
	p = realloc(p, n + n / 2 + 1);
	CHECK(p);
	CHECK(filled(p, n, (unsigned)align));
	free(p);
}

static void powers(size_t n)
{
	void *p;

	for (size_t align = 1; align <= 8 << 20; align *= 2) {
		use(memalign(align, n), n, align);
		use(aligned_alloc(align, n), n, align);
		p = NULL;
		if (align >= sizeof(void *)) {
			CHECK(!posix_memalign(&p, align, n));
			use(p, n, align);
		}
	}
	use(valloc(n), n, 4096);
	use(pvalloc(n), (n + 4095) & ~(size_t)4095, 4096);
}

static void libc_callers(void)
{
	char *line = NULL, *text = NULL;
	size_t cap = 0;
	FILE *f = tmpfile();

	CHECK(f);
	for (int i = 0; i < 300000; i++)
		fputs("0123456789", f);
	rewind(f);
	CHECK(getline(&line, &cap, f) == 3000000);
	fclose(f);
	CHECK(asprintf(&text, "%s", line) == 3000000);
	use(strdup(text), 3000000, 16);
	use(strndup(text, 77), 77, 16);
	text = realloc(text, 10);
	CHECK(text && !memcmp(text, "0123456789", 10));
	free(text);
	free(line);
}

int run(void)
{
	void *p;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		use(malloc(sizes[i]), sizes[i], 16);
		p = calloc(1, sizes[i]);
		CHECK(p && all_zero(p, sizes[i]));
		use(p, sizes[i], 16);
		powers(sizes[i]);
	}
	for (size_t n = 1; n < 200; n++)
		use(malloc(n), n, 16);
	/* not a power of two: rounded up (C23's aligned_alloc may refuse) */
	use(memalign(48, 100), 100, 64);
	use(memalign(3 << 20, 2 << 20), 2 << 20, 4 << 20);
	p = aligned_alloc(48, 96);
	if (p)
		use(p, 96, 64);
	else
		CHECK(errno == EINVAL);
	libc_callers();
	return 0;
}
