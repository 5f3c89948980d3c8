/* SPDX-License-Identifier: Apache-2.0
 *
 * Those of ipybox_tools/ranking.py; tests/unit/python/test_ranking.py compares them. */
#include "tools/catalog/words.h"

#include <stddef.h>

const char words_idle[] =
    " a about again all also an and any anything are as at be been but by can could did do "
    "does each everything for from had has have her his how i if in into is it its just let "
    "like me my need of on one or our please should so some something than that the their "
    "them then there these they this those to us want was we were what when where which who "
    "why will with would you your ";

const char *const words_alike[] = {
    " list show get read view display fetch see describe what which ",
    " find search query lookup locate look ",
    " create make new add open start begin post insert set ",
    " delete remove drop destroy erase ",
    " change update edit modify replace patch alter ",
    " write save store put create ",
    " move rename ",
    " folder directory dir ",
    " picture image photo media screenshot ",
    " run execute exec evaluate invoke command call ",
    " compare diff difference differ ",
    " page url site website web browser ",
    " go navigate visit open switch checkout ",
    " alert dialog popup confirm ",
    " log history commits ",
    " undo revert reset rollback restore back ",
    " upload attach send push ",
    " download pull fetch clone ",
    " user person people account member ",
    " several many multiple ",
    " sum plus total add ",
    " size large larger largest big bigger biggest small smallest ",
    " choose select pick ",
    " type enter input write fill ",
    " press key hit push ",
    " wait sleep pause until ",
    " approve review accept ",
    " repo repository project ",
    " config configuration settings ",
    " env environment ",
    " info information metadata details about ",
    " status state check health ",
    " zip gzip compress archive ",
    " stop close quit end cancel ",
    " comment reply note ",
    NULL,
};
