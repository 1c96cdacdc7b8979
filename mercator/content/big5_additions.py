"""The 192 pairs of Big5 that the Encoding standard has and Python's `big5hkscs` has not.

A pointer is (lead - 0x81) * 157 + trail - (0x40, or 0x62 from 0x7F on); source: WHATWG Encoding,
index Big5. Most are Hong Kong's additions of 2008 and second places of characters.
"""

from __future__ import annotations

_RUNS = {
    1000: (
        "㡵𡵓𣚞𦀡㻬𥣞㫵竼龗𤅡𨤍𣇪𠪊𣉞䌊蒄龖鐯䤰蘓墖靊鈘秐稲晠権袝瑌篅枂稬剏遆"
        "㓦珄𥶹瓆鿇垳䤯呌䄱𣚎堘穲𧭥讏䚮𦺈䆁𥶙箮𢒼鿈𢓁𢓉𢓌鿉蔄𣖻䂴鿊䓡𪷿拁灮鿋"
    ),
    2303: "覦覩",
    2746: "兙兛兝兞",
    4329: "尐秣",
    5432: ("␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟␡€"),
    10957: "〃仝",
    19553: "沜渝",
}
_SINGLE_POINTERS = (
    2082,
    2088,
    2103,
    2114,
    2123,
    2148,
    2151,
    2221,
    2239,
    2244,
    2354,
    2400,
    2413,
    2477,
    2498,
    2605,
    2673,
    2771,
    2780,
    2990,
    3087,
    3259,
    3301,
    3436,
    3451,
    4136,
    4138,
    4141,
    4182,
    4206,
    4220,
    4230,
    4241,
    4258,
    4273,
    4279,
    4282,
    4294,
    4349,
    4419,
    4422,
    4494,
    4624,
    4694,
    4708,
    4742,
    4748,
    4815,
    4828,
    4902,
    4922,
    4982,
    4992,
    4997,
    10942,
    10946,
    10948,
    10950,
    19028,
    19035,
    19088,
    19096,
    19112,
    19162,
    19240,
    19299,
    19305,
    19326,
    19355,
    19398,
    19439,
    19454,
    19557,
    19611,
    19643,
    19672,
    19697,
    19748,
)
_SINGLES = (
    "箸簆糎緒縝者耨菁蒨萏起都銹靜響鼖蔃鍮瑹浧禛邗靝瀞嬨爁矗纇駖釔惞澶輶侻營鄄鷰菏"
    "婧輋筑拐恢痹汊鬮鼗僭弌蠏拎瑨煢牐廴无癶隶倩偽包卄卿嘅婷幵廐彘悤撐晴杞港煮猪瑜"
    "瓩砉"
)

BIG5_ADDITIONS: dict[int, str] = {
    **dict(zip(_SINGLE_POINTERS, _SINGLES, strict=True)),
    **{first + i: char for first, run in _RUNS.items() for i, char in enumerate(run)},
}
"""Pointer to character."""
