// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/completion.h>
#include "verbs/mr.h"
#include "verbs/release.h"
#include "verbs/releases.h"

void cairn_mr_life_init(struct cairn_mr *mr)
{
	refcount_set(&mr->users, 1);
	init_completion(&mr->unused);
}

void cairn_mr_hold(struct cairn_mr *mr)
{
	/* Not 0: the owner's reference is put after the turn only, and we run
	 * in an epoch that the turn waits for.
	 */
	refcount_inc(&mr->users);
}

void cairn_mr_put(struct cairn_mr *mr)
{
	if (!refcount_dec_and_test(&mr->users))
		return;
	if (mr->releases)
		cairn_releases_finish(mr);
	else
		complete(&mr->unused);
}

void cairn_mr_changed(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_epoch_wait(&dev->nic.epoch);
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
}

void cairn_mr_release(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_mr_changed(dev, mr);
	cairn_mr_put(mr);
	wait_for_completion(&mr->unused);
	cairn_mr_free(mr);
}
