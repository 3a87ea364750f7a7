/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fake kernel's ioctl(), for fake.c: the methods of cairn's own objects. */
#ifndef FAKE_METHODS_H
#define FAKE_METHODS_H

#include <stdbool.h>

struct ib_uverbs_ioctl_hdr;

bool fake_is_device(int fd);
/* The methods that make and release memory. Return: as of ioctl(). */
int fake_prepare(const struct ib_uverbs_ioctl_hdr *hdr);
int fake_release(const struct ib_uverbs_ioctl_hdr *hdr);

#endif
