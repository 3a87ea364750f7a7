// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "lane/lane.h"
#include "nic.h"

#define CREATE_TRACE_POINTS
#include "lane/trace.h"
