// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Stacks are taken by the C library. elfutils' libdwfl names functions and lines if it is
 * there, without which the dynamic linker names exported functions.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_include) && __has_include(<elfutils/libdwfl.h>)
#include <elfutils/libdwfl.h>
#define TRACE_DWFL
#endif

#include "check_trace.h"

void cairn_trace_take(struct cairn_trace *trace)
{
	trace->depth = backtrace(trace->frame, CAIRN_TRACE_DEPTH);
}

uint64_t cairn_trace_hash(const struct cairn_trace *trace)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < trace->depth; i++)
		hash = (hash ^ (uintptr_t)trace->frame[i]) * 0x100000001b3;
	return hash;
}

/* Whether a frame is of this library or of libibverbs. */
static bool trace_is_ours(void *frame)
{
	static const char verbs[] = "libibverbs.so";
	Dl_info own, info;
	const char *name;

	if (!dladdr(frame, &info) || !dladdr((void *)trace_is_ours, &own))
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	return info.dli_fbase == own.dli_fbase ||
	       !strncmp(name, verbs, sizeof(verbs) - 1);
}

#ifdef TRACE_DWFL
/* The functions of libdwfl that are used, as it may be missing at run time. */
static struct {
	__typeof__(dwfl_begin) *begin;
	__typeof__(dwfl_end) *end;
	__typeof__(dwfl_report_begin) *report_begin;
	__typeof__(dwfl_report_end) *report_end;
	__typeof__(dwfl_linux_proc_report) *proc_report;
	__typeof__(dwfl_linux_proc_find_elf) *find_elf;
	__typeof__(dwfl_standard_find_debuginfo) *find_debuginfo;
	__typeof__(dwfl_addrmodule) *addrmodule;
	__typeof__(dwfl_module_addrname) *addrname;
	__typeof__(dwfl_module_getsrc) *getsrc;
	__typeof__(dwfl_lineinfo) *lineinfo;
} trace_dw;

static bool trace_find_dw(void)
{
	void *lib = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	return (trace_dw.begin = dlsym(lib, "dwfl_begin")) &&
	       (trace_dw.end = dlsym(lib, "dwfl_end")) &&
	       (trace_dw.report_begin = dlsym(lib, "dwfl_report_begin")) &&
	       (trace_dw.report_end = dlsym(lib, "dwfl_report_end")) &&
	       (trace_dw.proc_report = dlsym(lib, "dwfl_linux_proc_report")) &&
	       (trace_dw.find_elf = dlsym(lib, "dwfl_linux_proc_find_elf")) &&
	       (trace_dw.find_debuginfo = dlsym(lib, "dwfl_standard_find_debuginfo")) &&
	       (trace_dw.addrmodule = dlsym(lib, "dwfl_addrmodule")) &&
	       (trace_dw.addrname = dlsym(lib, "dwfl_module_addrname")) &&
	       (trace_dw.getsrc = dlsym(lib, "dwfl_module_getsrc")) &&
	       (trace_dw.lineinfo = dlsym(lib, "dwfl_lineinfo"));
}

/* Return: the process with its libraries, or NULL. */
static Dwfl *trace_open_dw(void)
{
	static Dwfl_Callbacks callbacks;
	static int found = -1;
	Dwfl *dwfl;

	if (found < 0)
		found = trace_find_dw();
	if (!found)
		return NULL;
	callbacks.find_elf = trace_dw.find_elf;
	callbacks.find_debuginfo = trace_dw.find_debuginfo;
	dwfl = trace_dw.begin(&callbacks);
	if (!dwfl)
		return NULL;
	trace_dw.report_begin(dwfl);
	if (!trace_dw.proc_report(dwfl, getpid()) &&
	    !trace_dw.report_end(dwfl, NULL, NULL))
		return dwfl;
	trace_dw.end(dwfl);
	return NULL;
}

static bool trace_print_dw(FILE *out, Dwfl *dwfl, Dwarf_Addr addr)
{
	Dwfl_Module *module = dwfl ? trace_dw.addrmodule(dwfl, addr) : NULL;
	const char *name, *file = NULL;
	Dwfl_Line *line;
	int number = 0;

	name = module ? trace_dw.addrname(module, addr) : NULL;
	if (!name)
		return false;
	line = trace_dw.getsrc(module, addr);
	if (line)
		file = trace_dw.lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (file)
		fprintf(out, "%s (%s:%d)", name, file, number);
	else
		fprintf(out, "%s", name);
	return true;
}

static void trace_close_dw(Dwfl *dwfl)
{
	if (dwfl)
		trace_dw.end(dwfl);
}
#else
typedef void Dwfl;

static Dwfl *trace_open_dw(void)
{
	return NULL;
}

static bool trace_print_dw(FILE *out, Dwfl *dwfl, uintptr_t addr)
{
	(void)out;
	(void)dwfl;
	(void)addr;
	return false;
}

static void trace_close_dw(Dwfl *dwfl)
{
	(void)dwfl;
}
#endif

static void trace_print_frame(FILE *out, Dwfl *dwfl, void *frame)
{
	/* the call is before the address to which it returns */
	uintptr_t addr = (uintptr_t)frame - 1;
	Dl_info info;

	if (trace_print_dw(out, dwfl, addr))
		return;
	if (!dladdr(frame, &info)) {
		fprintf(out, "%p", frame);
		return;
	}
	fprintf(out, "%s in %s+0x%zx", info.dli_sname ? info.dli_sname : "?",
		info.dli_fname, (size_t)(addr - (uintptr_t)info.dli_fbase));
}

void cairn_trace_print(FILE *out, const char *title,
		       const struct cairn_trace *trace)
{
	int first = 0;
	Dwfl *dwfl;

	if (!trace->depth)
		return;
	while (first < trace->depth - 1 && trace_is_ours(trace->frame[first]))
		first++;
	fprintf(out, "  %s\n", title);
	dwfl = trace_open_dw();
	for (int i = first; i < trace->depth; i++) {
		fprintf(out, "    #%d ", i - first);
		trace_print_frame(out, dwfl, trace->frame[i]);
		fputc('\n', out);
	}
	trace_close_dw(dwfl);
}
