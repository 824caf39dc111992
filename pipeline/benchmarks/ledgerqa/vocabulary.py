"""The words that bulletins are made of: invented funds, their accounts, and whom they are broken down by."""

from __future__ import annotations

from dataclasses import dataclass

FIELDS = (
    "Harbor Improvement", "Inland Waterways", "Rural Telephone", "Grain Storage", "Highway Safety",
    "Airport Development", "Farm Mortgage", "Timber Conservation", "Merchant Shipping", "Flood Insurance",
    "Soil Restoration", "Municipal Water", "Coal Miners' Benefit", "Veterans' Housing", "Lighthouse Service",
    "Public Roads", "Cotton Marketing", "Cattle Loan", "Irrigation Works", "Power Transmission",
    "Postal Savings", "School Construction", "Seamen's Hospital", "Mineral Exploration", "Fisheries Research",
    "Railway Equipment", "Wheat Export", "Sugar Stabilization", "Copper Reserve", "Rubber Procurement",
    "Territorial Roads", "Small Business Credit", "Student Aid", "Urban Transit", "Nursing Education",
    "Black Lung Disability", "Crop Insurance", "Dairy Support", "Wool Incentive", "Tobacco Adjustment",
    "National Archives", "Canal Operating", "Pilotage", "Border Works", "Forest Roads",
    "Wildlife Refuge", "Reclamation", "Geological Survey", "Weather Service", "Customs Bonded Warehouse",
    "Immigrant Station", "Quarantine", "Coinage Profit", "Silver Purchase", "Bullion Transport",
    "Lend-Lease Supply", "Shipyard Modernization", "Aviation War Risk", "Foreign Relief", "Export Guarantee",
    "Hydrographic Office", "Patent Office", "Land Grant College", "Homestead Loan",
)  # fmt: skip
BODIES = ("Fund", "Trust Fund", "Account", "Corporation", "Administration", "Program")


@dataclass(frozen=True)
class Basis:
    """An accounting basis: as a title ends with it, and as a sentence says it."""

    title: str
    said: str


BASES = (
    Basis("Cash Basis", "cash-basis"),
    Basis("Accrual Basis", "accrual-basis"),
    Basis("Checks-Issued Basis", "checks-issued-basis"),
    Basis("Daily Statement Basis", "daily-statement-basis"),
)


@dataclass(frozen=True)
class Concept:
    """What a table counts, by what, and its columns' labels in two groups. `signed`: may be negative."""

    name: str
    by: str
    groups: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]
    signed: bool = False


MONTHLY = (
    Concept("Receipts", "Source", (
        ("Taxes and duties", ("Customs duties", "Excise taxes", "Tonnage taxes", "Stamp taxes")),
        ("Earnings", ("Interest earned", "Rentals and royalties", "Fees and permits", "Sales of property")),
    )),
    Concept("Expenditures", "Object", (
        ("Current", ("Salaries", "Supplies and materials", "Travel", "Maintenance and repair")),
        ("Capital", ("Construction", "Purchases of equipment", "Grants-in-aid", "Land acquired")),
    )),
    Concept("Net Advances", "Class of Bank", (
        ("National", ("Reserve city banks", "Central reserve banks", "Country banks", "Joint stock banks")),
        ("State", ("Member banks", "Nonmember banks", "Savings banks", "Private banks")),
    ), signed=True),
    Concept("Loans Disbursed", "Class of Borrower", (
        ("Private", ("Farmers", "Cooperatives", "Small business", "Homeowners")),
        ("Public", ("Municipalities", "School districts", "Port authorities", "Foreign governments")),
    )),
    Concept("Claims Paid", "Type of Claim", (
        ("Persons", ("Death benefits", "Disability", "Medical expenses", "Lost earnings")),
        ("Property", ("Fire damage", "Storm damage", "Theft", "Cargo losses")),
    )),
    Concept("Securities Sold", "Class of Investor", (
        ("Banks", ("Commercial banks", "Mutual savings banks", "Federal Reserve banks", "Trust companies")),
        ("Other investors", ("Insurance companies", "Individuals", "State funds", "Nonprofit institutions")),
    )),
)  # fmt: skip

CROSS = (
    Concept("Collections", "State", (
        ("Income taxes", ("Corporation income", "Individual income", "Withheld", "Estate and gift")),
        ("Excises", ("Alcohol", "Tobacco", "Manufacturers' excise", "Retailers' excise")),
    )),
    Concept("Grants Paid", "State", (
        ("Welfare", ("Old-age assistance", "Dependent children", "Aid to the blind", "Child health")),
        ("Works", ("Bridges", "Sewage plants", "Rural electrification", "Public buildings")),
    )),
    Concept("Holdings", "Country", (
        ("Short-term", ("Treasury bills", "Bank deposits", "Commercial paper", "Certificates")),
        ("Long-term", ("Treasury bonds", "Corporate bonds", "Corporate stocks", "Agency securities")),
    )),
    Concept("Shipments Financed", "Country", (
        ("Farm products", ("Wheat", "Cotton", "Tobacco leaf", "Dairy products")),
        ("Other goods", ("Machinery", "Chemicals", "Steel", "Petroleum")),
    )),
    Concept("Charges Assessed", "Port", (
        ("Vessels", ("Tonnage dues", "Pilot fees", "Wharfage", "Light dues")),
        ("Cargo", ("Storage", "Weighing", "Inspection", "Bonded transfer")),
    )),
    Concept("Commitments", "Port", (
        ("Dredging", ("Channels", "Basins", "Breakwaters", "Locks")),
        ("Plant", ("Cranes", "Warehouses", "Rail spurs", "Cold stores")),
    )),
)  # fmt: skip

ENTITIES = {
    "State": (
        "Alabama", "Arizona", "Arkansas", "California", "Colorado", "Connecticut", "Delaware", "Florida",
        "Georgia", "Idaho", "Illinois", "Indiana", "Iowa", "Kansas", "Kentucky", "Louisiana", "Maine",
        "Maryland", "Massachusetts", "Michigan", "Minnesota", "Mississippi", "Missouri", "Montana",
        "Nebraska", "Nevada", "New Hampshire", "New Jersey", "New Mexico", "New York", "North Carolina",
        "North Dakota", "Ohio", "Oklahoma", "Oregon", "Pennsylvania", "Rhode Island", "South Carolina",
        "South Dakota", "Tennessee", "Texas", "Utah", "Vermont", "Virginia", "Washington", "West Virginia",
        "Wisconsin", "Wyoming",
    ),
    "Country": (
        "Argentina", "Australia", "Austria", "Belgium", "Bolivia", "Brazil", "Canada", "Chile", "Colombia",
        "Denmark", "Ecuador", "Egypt", "Finland", "France", "Greece", "Iceland", "India", "Ireland", "Israel",
        "Italy", "Japan", "Kenya", "Liberia", "Luxembourg", "Mexico", "Morocco", "Netherlands",
        "New Zealand", "Norway", "Panama", "Peru", "Philippines", "Portugal", "Spain", "Sweden",
        "Switzerland", "Thailand", "Turkey", "United Kingdom", "Uruguay", "Venezuela",
    ),
    "Port": (
        "Astoria", "Baltimore", "Bangor", "Beaumont", "Boston", "Bridgeport", "Buffalo", "Charleston",
        "Chicago", "Cleveland", "Corpus Christi", "Detroit", "Duluth", "Erie", "Eureka", "Galveston",
        "Gulfport", "Honolulu", "Houston", "Jacksonville", "Juneau", "Key West", "Los Angeles", "Milwaukee",
        "Mobile", "New Haven", "New Orleans", "Newport News", "Norfolk", "Pensacola", "Philadelphia",
        "Portland", "Providence", "San Diego", "San Francisco", "Savannah", "Seattle", "Tacoma", "Tampa",
        "Toledo", "Wilmington",
    ),
}  # fmt: skip

NOTES = (
    "Includes transactions of liquidated predecessor agencies.",
    "Excludes amounts held in suspense at the close of the period.",
    "On the classification adopted by the Comptroller of Accounts.",
    "Partly estimated.",
    "Net of refunds.",
)
SOURCES = (
    "Source: Accounts of the Comptroller.",
    "Source: Daily statements of the fiscal agents.",
    "Source: Monthly reports of disbursing officers.",
    "Source: Compiled from reports of the field offices.",
)
