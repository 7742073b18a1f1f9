/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page with three pictures, inline, without scripts. See view.h.
 */
#include "config.h"
#include "replay/view_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "replay/mem.h"

#define WIDTH  1000
#define ROW    4   /* height of a tensor */
#define BANDS  200 /* of the link's picture */
#define STALLS 15

static const struct {
	const char *colour, *text;
} tiers[VIEW_TIERS] = {
	[VIEW_NOWHERE] = {"#ffffff", "not alive"},
	[VIEW_VRAM] = {"#c0392b", "VRAM"},
	[VIEW_COPIED] = {"#e59866", "VRAM, with a copy below"},
	[VIEW_RAM] = {"#2e86c1", "RAM"},
	[VIEW_STORE] = {"#1b2631", "store"},
};

static const char *const channel_name[CHANNELS] = {"link out", "link in",
						   "store write", "store read"};

static void text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else
			putc((unsigned char)*s < ' ' ? '?' : *s, out);
	}
}

static double x_of(const struct view *v, uint64_t at)
{
	uint64_t start = v->sample[0].at, all = v->end - start;

	if (at < start || !all)
		return 0;
	return (double)(at - start) * WIDTH / (double)all;
}

static void bar(FILE *out, double x, double y, double w, double h,
		const char *colour)
{
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
		"fill=\"%s\"/>\n",
		x, y, w, h, colour);
}

/* One tensor: a bar for each stretch of time in one tier. */
static void heat_row(FILE *out, const struct view *v, uint32_t row)
{
	uint32_t from = 0;

	for (uint32_t k = 1; k <= v->kernels; k++) {
		unsigned tier = v->sample[from].where[row];
		double a, b;

		if (k < v->kernels && v->sample[k].where[row] == tier)
			continue;
		a = x_of(v, v->sample[from].at);
		b = k < v->kernels ? x_of(v, v->sample[k].at) : WIDTH;
		if (tier != VIEW_NOWHERE)
			bar(out, a, row * ROW, b - a, ROW, tiers[tier].colour);
		from = k;
	}
}

static void heat_map(FILE *out, const struct view *v)
{
	fputs("<h2>Where the largest tensors are</h2>\n<p>", out);
	for (unsigned i = 1; i < VIEW_TIERS; i++)
		fprintf(out, "<span style=\"color:%s\">&#9632;</span> %s ",
			tiers[i].colour, tiers[i].text);
	fprintf(out,
		"</p>\n<svg viewBox=\"0 0 %d %" PRIu32 "\" width=\"100%%\" "
		"role=\"img\">\n",
		WIDTH, v->rows * ROW);
	for (uint32_t row = 0; row < v->rows; row++)
		heat_row(out, v, row);
	fputs("</svg>\n", out);
}

/* The part of each band of time in which a channel is busy. */
static void use_of(const struct view *v, enum channel ch, double *band)
{
	memset(band, 0, BANDS * sizeof(*band));
	for (uint32_t i = 0; i < v->ops; i++) {
		double a = x_of(v, v->op[i].start) * BANDS / WIDTH;
		double b = x_of(v, v->op[i].end) * BANDS / WIDTH;

		if (v->op[i].channel != ch)
			continue;
		for (int n = (int)a; n < BANDS && n < b; n++)
			band[n] += hz_min(b, n + 1.0) - hz_max(a, (double)n);
	}
}

static void link_use(FILE *out, const struct view *v)
{
	double band[BANDS];

	fputs("<h2>How busy the links are</h2>\n", out);
	for (unsigned ch = 0; ch < CHANNELS; ch++) {
		use_of(v, ch, band);
		fprintf(out,
			"<p>%s</p>\n<svg viewBox=\"0 0 %d 50\" "
			"width=\"100%%\" role=\"img\">\n",
			channel_name[ch], WIDTH);
		bar(out, 0, 0, WIDTH, 50, "#eeeeee");
		for (int n = 0; n < BANDS; n++) {
			double high = 50 * hz_min(band[n], 1.0);

			if (high > 0)
				bar(out, (double)n * WIDTH / BANDS, 50 - high,
				    (double)WIDTH / BANDS, high, "#2e86c1");
		}
		fputs("</svg>\n", out);
	}
}

static int by_wait(const void *a, const void *b)
{
	const struct view_sample *x = *(const struct view_sample *const *)a;
	const struct view_sample *y = *(const struct view_sample *const *)b;

	return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : 0;
}

static void stalls(FILE *out, const struct view *v)
{
	const struct view_sample **s = mem_resize(NULL, v->kernels, sizeof(*s));

	for (uint32_t k = 0; k < v->kernels; k++)
		s[k] = &v->sample[k];
	qsort(s, v->kernels, sizeof(*s), by_wait);
	fputs("<h2>Who waited longest</h2>\n<table><tr><th>kernel</th>"
	      "<th>at, s</th><th>waited, ms</th></tr>\n",
	      out);
	for (uint32_t k = 0; k < v->kernels && k < STALLS; k++)
		if (s[k]->waited)
			fprintf(out,
				"<tr><td>%" PRIu32 "</td><td>%.3f</td>"
				"<td>%.3f</td></tr>\n",
				s[k]->kernel,
				(double)(s[k]->at - v->sample[0].at) / 1e9,
				(double)s[k]->waited / 1e6);
	fputs("</table>\n", out);
	free(s);
}

static void page(FILE *out, const struct view *v, const struct work *work,
		 const struct policy *policy, const struct profile *profile)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head>"
	      "<meta charset=\"utf-8\"><title>horizon-replay</title>\n<style>"
	      "body{font:14px sans-serif;max-width:1100px;margin:2em auto}"
	      "td,th{padding:0 1em;text-align:right}</style></head><body>\n"
	      "<h1>",
	      out);
	text(out, work->name);
	fprintf(out, "</h1>\n<p>policy %s, machine ", policy->name);
	text(out, profile->name);
	fprintf(out, ", a step of %.3f s</p>\n",
		(double)(v->end - v->sample[0].at) / 1e9);
	heat_map(out, v);
	link_use(out, v);
	stalls(out, v);
	fputs("</body></html>\n", out);
}

bool view_write(const struct view *view, const char *path,
		const struct work *work, const struct policy *policy,
		const struct profile *profile)
{
	FILE *out = fopen(path, "we");
	bool good = out;

	if (out) {
		page(out, view, work, policy, profile);
		good = !ferror(out);
		good &= !fclose(out);
	}
	if (!good)
		hz_log(HZ_ERROR, "replay", "%s: %m", path, -errno);
	return good;
}
