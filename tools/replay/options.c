/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line. See options.h.
 */
#include "config.h"
#include "replay/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/knobs.h"

enum {
	OPT_PROFILE = CLI_OWN,
	OPT_POLICY,
	OPT_VRAM,
	OPT_RAM,
	OPT_STORE,
	OPT_SYNTH,
	OPT_GOAL,
	OPT_STEPS,
	OPT_PERTURB,
	OPT_EVAL,
	OPT_SHUFFLE,
	OPT_SEED,
	OPT_JSON,
	OPT_HTML,
	OPT_WRITE_PLAN,
	OPT_LIST,
};

static const struct cli_option options[] = {
	{"profile", 'p', OPT_PROFILE, "FILE|NAME", NULL,
	 "the machine (g10 if not given; --list shows all)"},
	{"policy", 'P', OPT_POLICY, "NAME[,NAME]", NULL,
	 "what moves the data (learned if not given)"},
	{"vram", 0, OPT_VRAM, "SIZE|PCT", NULL, "GPU memory"},
	{"ram", 0, OPT_RAM, "SIZE|PCT", NULL, "host memory below it"},
	{"store-size", 0, OPT_STORE, "SIZE|PCT", NULL,
	 "bytes of the store below that, 0 for none"},
	{"synth", 0, OPT_SYNTH, "SPEC", NULL,
	 "a step from shapes: gpt:layers=L,hidden=H,..."},
	{"goal", 0, OPT_GOAL, "time|bytes", NULL,
	 "what the plan saves first (time if not given)"},
	{"steps", 'n', OPT_STEPS, "N", NULL,
	 "steps to run; the second half counts (8 if not given)"},
	{"perturb", 0, OPT_PERTURB, "PCT", NULL,
	 "each kernel's time varies by so much both ways"},
	{"eval", 0, OPT_EVAL, "N", NULL,
	 "a forward pass alone after each N steps"},
	{"shuffle", 0, OPT_SHUFFLE, NULL, NULL,
	 "kernels in another order in every step"},
	{"seed", 0, OPT_SEED, "N", NULL, "of what is random"},
	{"json", 'J', OPT_JSON, NULL, NULL, "an object a line"},
	{"html", 0, OPT_HTML, "FILE", NULL,
	 "a page with pictures of the last step of the last policy"},
	{"write-plan", 0, OPT_WRITE_PLAN, "FILE", NULL,
	 "the plan of the last trace: a line for each tensor"},
	{"list", 0, OPT_LIST, NULL, NULL, "the machines and the policies"},
	CLI_COMMON_OPTIONS,
};

const struct cli replay_cli = {
	.program = "horizon-replay",
	.usage = "[OPTION...] TRACE...",
	.about = "Simulate how a training step's data moves between GPU "
		 "memory, RAM and store, and\nscore it against what no "
		 "policy can beat.",
	.options = options,
	.count = hz_array_len(options),
	.bad_usage = REPLAY_USAGE,
};

static const struct policy *const policies[] = {
	&policy_uvm,	 &policy_uvm_nofree, &policy_lru,
	&policy_learned, &policy_oracle,
};

static _Noreturn void list(void)
{
	puts("policies:");
	for (unsigned i = 0; i < hz_array_len(policies); i++)
		printf("  %-10s %s\n", policies[i]->name, policies[i]->help);
	puts("machines:");
	for (unsigned i = 0; i < profiles_count; i++)
		printf("  %-10s %s\n", profiles[i].name, profiles[i].source);
	cli_flush(&replay_cli, REPLAY_FAILED);
	exit(REPLAY_OK);
}

static void take_policy(struct options *o, const char *name)
{
	for (unsigned i = 0; i < hz_array_len(policies); i++) {
		if (strcmp(policies[i]->name, name))
			continue;
		if (o->policies == POLICIES_MAX)
			cli_die(&replay_cli, REPLAY_USAGE,
				"--policy: at most %d of them", POLICIES_MAX);
		o->policy[o->policies++] = policies[i];
		return;
	}
	cli_die(&replay_cli, REPLAY_USAGE,
		"--policy: '%s' is not one of uvm, uvm-nofree, lru, learned, "
		"oracle",
		name);
}

static void take_policies(struct options *o, const char *list_of_names)
{
	char *text = strdup(list_of_names), *rest = text, *name;

	while (text && (name = strsep(&rest, ",")))
		take_policy(o, name);
	free(text);
}

static void take_size(const struct cli_option *opt, uint64_t *out,
		      uint64_t least)
{
	struct hz_size size;

	if (hz_parse_size(optarg, &size) || size.bytes == HZ_SIZE_AUTO)
		cli_die(&replay_cli, REPLAY_USAGE, "--%s: '%s' is not a size",
			opt->name, optarg);
	*out = hz_size_resolve(size, *out);
	if (*out < least || *out > (uint64_t)1 << 60)
		cli_die(&replay_cli, REPLAY_USAGE, "--%s: %s is out of range",
			opt->name, optarg);
}

static uint64_t take_number(const struct cli_option *opt, uint64_t least,
			    uint64_t most)
{
	uint64_t n;

	if (!cli_number(optarg, least, most, &n))
		cli_die(&replay_cli, REPLAY_USAGE,
			"--%s: '%s' is not a number in [%llu, %llu]", opt->name,
			optarg, (unsigned long long)least,
			(unsigned long long)most);
	return n;
}

static void take_profile(struct options *o)
{
	const struct profile *known = profile_find(optarg);

	if (known)
		o->profile = *known;
	else if (access(optarg, R_OK))
		cli_die(&replay_cli, REPLAY_USAGE,
			"--profile: '%s' is neither a file nor a machine that "
			"--list shows",
			optarg);
	else if (!profile_read(&o->profile, optarg))
		exit(REPLAY_USAGE);
}

static void take_goal(struct options *o)
{
	if (!strcmp(optarg, "time"))
		o->goal = HZ_GOAL_TIME;
	else if (!strcmp(optarg, "bytes"))
		o->goal = HZ_GOAL_BYTES;
	else
		cli_die(&replay_cli, REPLAY_USAGE,
			"--goal: '%s' is not one of time, bytes", optarg);
}

/* Sizes change a machine, whichever comes first. */
struct sizes {
	const struct cli_option *vram, *ram, *store;
	const char *vram_text, *ram_text, *store_text;
};

static void take_how(struct options *o, const struct cli_option *opt)
{
	switch (opt->id) {
	case OPT_STEPS:
		o->how.steps = (uint32_t)take_number(opt, 1, 100000);
		break;
	case OPT_PERTURB:
		o->how.perturb = (unsigned)take_number(opt, 0, 99);
		break;
	case OPT_EVAL:
		o->how.eval = (unsigned)take_number(opt, 1, 100000);
		break;
	case OPT_SEED:
		o->how.seed = (unsigned)take_number(opt, 0, UINT32_MAX);
		break;
	default:
		o->how.shuffle = true;
	}
}

static void take(struct options *o, struct sizes *s,
		 const struct cli_option *opt)
{
	switch (opt->id) {
	case OPT_PROFILE:
		take_profile(o);
		break;
	case OPT_POLICY:
		take_policies(o, optarg);
		break;
	case OPT_VRAM:
		s->vram = opt;
		s->vram_text = optarg;
		break;
	case OPT_RAM:
		s->ram = opt;
		s->ram_text = optarg;
		break;
	case OPT_STORE:
		s->store = opt;
		s->store_text = optarg;
		break;
	case OPT_SYNTH:
		o->synth = optarg;
		break;
	case OPT_GOAL:
		take_goal(o);
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_HTML:
		o->html = optarg;
		break;
	case OPT_WRITE_PLAN:
		o->write_plan = optarg;
		break;
	case OPT_LIST:
		list();
	default:
		take_how(o, opt);
	}
}

static void apply_sizes(struct options *o, const struct sizes *s)
{
	if (s->vram) {
		optarg = (char *)s->vram_text;
		take_size(s->vram, &o->profile.vram, 64 << 20);
	}
	if (s->ram) {
		optarg = (char *)s->ram_text;
		take_size(s->ram, &o->profile.ram, 64 << 20);
	}
	if (s->store) {
		optarg = (char *)s->store_text;
		take_size(s->store, &o->profile.store, 0);
	}
}

void options_read(struct options *o, int argc, char **argv)
{
	const struct cli_option *opt;
	struct sizes sizes = {.vram = NULL};

	*o = (struct options){.profile = *profile_find("g10"),
			      .how = {.steps = 8}};
	for (;;) {
		while ((opt = cli_next(&replay_cli, argc, argv)))
			take(o, &sizes, opt);
		if (optind >= argc)
			break;
		if (o->traces == TRACES_MAX)
			cli_die(&replay_cli, REPLAY_USAGE, "at most %d traces",
				TRACES_MAX);
		o->trace[o->traces++] = argv[optind++];
	}
	apply_sizes(o, &sizes);
	if (!o->policies)
		o->policy[o->policies++] = &policy_learned;
	if (!o->traces && !o->synth)
		cli_die(&replay_cli, REPLAY_USAGE,
			"no trace, try 'horizon-replay --help'");
}
