/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_XARRAY_H
#define CAIRN_SHIM_LINUX_XARRAY_H

struct xarray {
	void *head;
};

#endif
